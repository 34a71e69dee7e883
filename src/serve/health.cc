#include "health.h"

#include "handlers.h"
#include "server_state.h"

namespace forge::serve {
namespace {

bool is_stalled(const ServerState& state, const engine::EngineStatus& status) {
  if (status.waiting + status.running == 0) return false;
  return status.stalled_steps >= state.options.health_stall_steps ||
         state.model().progress.standstill() >= state.options.health_stall;
}

Reply reply_of(Health health, bool is_well) {
  return {.status = is_well ? 200U : 503U,
          .body = R"({"status":")" + std::string(name_of(health)) + R"("})"};
}

}  // namespace

Health health_of(const ServerState& state) {
  if (!state.served) return state.phase == Phase::serving ? Health::loading : Health::shutting_down;
  const engine::EngineStatus status = state.model().loop.status();
  if (status.target_lost) return Health::target_lost;
  if (is_stalled(state, status)) return Health::stalled;
  return state.phase == Phase::serving ? Health::ok : Health::shutting_down;
}

namespace handlers {

Answer ready(const RouteCall& call) {
  const Health health = health_of(call.state);
  return reply_of(health, is_ready(health));
}

Answer live(const RouteCall& call) {
  const Health health = health_of(call.state);
  return reply_of(health, is_live(health));
}

Answer version(const RouteCall& /*call*/) {
  return Reply{.body = R"({"version":")" FORGE_VERSION R"("})"};
}

}  // namespace handlers
}  // namespace forge::serve
