// What the server and its model are, without a step of the engine.
#include <nlohmann/json.hpp>

#include "forge/core/names.h"
#include "handlers.h"
#include "request_body.h"
#include "tokenizer_api.h"

namespace forge::serve {
namespace {

nlohmann::ordered_json trace_json(const engine::TraceStatus& trace) {
  nlohmann::ordered_json body = {{"state", trace.failure ? "failed" : "recording"},
                                 {"steps", trace.steps}};
  if (trace.failure) body["reason"] = *trace.failure;
  return body;
}

nlohmann::ordered_json drafts_json(const ServerState& state, const engine::EngineStatus& status) {
  nlohmann::ordered_json body = {{"source", state.model.draft_source},
                                 {"proposed", status.drafts.proposed},
                                 {"accepted", status.drafts.accepted}};
  if (status.draft_alarm) body["alarm"] = *status.draft_alarm;
  return body;
}

constexpr std::string_view kHealthy = "ok";

/// kHealthy, or why requests should go elsewhere.
std::string_view health_of(const ServerState& state, const engine::EngineStatus& status) {
  if (status.target_lost) return "target_lost";
  if (state.shutting_down) return "shutting_down";
  const bool stalled = status.waiting + status.running > 0 &&
                       status.stalled_steps >= state.options.health_stall_steps;
  return stalled ? "stalled" : kHealthy;
}

}  // namespace

namespace handlers {

/// A trace that cannot be written makes no answer wrong, nor do drafts that are not kept: they are
/// told and nobody is turned away.
Answer health(const RouteCall& call) {
  const ServerState& state = call.state;
  const engine::EngineStatus status = state.loop.status();
  const std::string_view state_name = health_of(state, status);
  nlohmann::ordered_json body = {{"status", state_name},
                                 {"waiting", status.waiting},
                                 {"running", status.running},
                                 {"steps", status.steps},
                                 {"stalled_steps", status.stalled_steps},
                                 {"generated_tokens", status.generated_tokens},
                                 {"preemptions", status.preemptions},
                                 {"free_blocks", status.free_blocks},
                                 {"total_blocks", status.total_blocks},
                                 {"connections", state.connections.count()}};
  if (!state.model.draft_source.empty()) body["drafts"] = drafts_json(state, status);
  if (status.target_lost) body["reason"] = *status.target_lost;
  if (status.trace) body["trace"] = trace_json(*status.trace);
  return Reply{.status = state_name == kHealthy ? 200U : 503U, .body = body.dump()};
}

Answer cache_stats(const RouteCall& call) {
  const ServerState& state = call.state;
  const engine::EngineStatus status = state.loop.status();
  const PrefixCacheStatistics& cache = status.prefix_cache;
  const nlohmann::ordered_json body = {{"prefix_cache", name_of(state.loop.config().prefix_cache)},
                                       {"queries", cache.queries},
                                       {"hits", cache.hits},
                                       {"query_tokens", cache.query_tokens},
                                       {"hit_tokens", cache.hit_tokens},
                                       {"recovered_tokens", cache.recovered_tokens},
                                       {"evictions", cache.evictions},
                                       {"sessions", status.sessions},
                                       {"chat_sessions", state.chat_sessions.count()},
                                       {"chat_session_bytes", state.chat_sessions.bytes()},
                                       {"evictable_blocks", status.evictable_blocks},
                                       {"free_blocks", status.free_blocks},
                                       {"total_blocks", status.total_blocks},
                                       {"swaps", status.swaps},
                                       {"swapped_sequences", status.swapped},
                                       {"free_host_blocks", status.free_host_blocks},
                                       {"total_host_blocks", status.total_host_blocks}};
  return Reply{.body = body.dump()};
}

/// Takes no fields.
Answer cache_clear(const RouteCall& call) {
  if (call.body.empty()) return CacheClear{};
  if (const auto error = read_body(call.body, [](const json::Fields&) {})) return reply_of(*error);
  return CacheClear{};
}

Answer models(const RouteCall& call) { return Reply{.body = models_json(call.state.model)}; }

Answer model(const RouteCall& call) {
  const ModelCard& model = call.state.model;
  if (call.id == model.id) return Reply{.body = model_json(model)};
  return reply_of(model_not_found(call.id, model));
}

Answer tokenizer_info(const RouteCall& call) {
  return Reply{.body = serve::tokenizer_info(call.state.model, call.state.loop.tokenizer())};
}

}  // namespace handlers
}  // namespace forge::serve
