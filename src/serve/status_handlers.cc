// What the server and its model are, without a step of the engine.
#include <nlohmann/json.hpp>

#include "forge/core/names.h"
#include "framing.h"
#include "handlers.h"
#include "health.h"
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

nlohmann::ordered_json drafts_json(const ModelCard& card, const engine::EngineStatus& status) {
  nlohmann::ordered_json body = {{"source", card.draft_source},
                                 {"proposed", status.drafts.proposed},
                                 {"accepted", status.drafts.accepted}};
  if (status.draft_alarm) body["alarm"] = *status.draft_alarm;
  return body;
}

}  // namespace

namespace handlers {

/// A trace that cannot be written makes no answer wrong, nor do drafts that are not kept: they are
/// told and nobody is turned away.
Answer health(const RouteCall& call) {
  const ServerState& state = call.state;
  const ServedModel& model = state.model();
  const engine::EngineStatus status = model.loop.status();
  const Health health = health_of(state);
  nlohmann::ordered_json body = {{"status", name_of(health)},
                                 {"waiting", status.waiting},
                                 {"running", status.running},
                                 {"steps", status.steps},
                                 {"stalled_steps", status.stalled_steps},
                                 {"generated_tokens", status.generated_tokens},
                                 {"preemptions", status.preemptions},
                                 {"free_blocks", status.free_blocks},
                                 {"total_blocks", status.total_blocks},
                                 {"connections", state.connections.count()}};
  if (model.card.fingerprint) body["system_fingerprint"] = to_string(*model.card.fingerprint);
  if (!model.card.draft_source.empty()) body["drafts"] = drafts_json(model.card, status);
  if (status.target_lost) body["reason"] = *status.target_lost;
  if (status.trace) body["trace"] = trace_json(*status.trace);
  return Reply{.status = is_ready(health) ? 200U : 503U, .body = body.dump()};
}

Answer cache_stats(const RouteCall& call) {
  const ServedModel& model = call.state.model();
  const engine::EngineStatus status = model.loop.status();
  const PrefixCacheStatistics& cache = status.prefix_cache;
  const nlohmann::ordered_json body = {{"prefix_cache", name_of(model.loop.config().prefix_cache)},
                                       {"queries", cache.queries},
                                       {"hits", cache.hits},
                                       {"query_tokens", cache.query_tokens},
                                       {"hit_tokens", cache.hit_tokens},
                                       {"recovered_tokens", cache.recovered_tokens},
                                       {"evictions", cache.evictions},
                                       {"sessions", status.sessions},
                                       {"chat_sessions", model.chat_sessions.count()},
                                       {"chat_session_bytes", model.chat_sessions.bytes()},
                                       {"evictable_blocks", status.evictable_blocks},
                                       {"free_blocks", status.free_blocks},
                                       {"total_blocks", status.total_blocks},
                                       {"swaps", status.swaps},
                                       {"swapped_sequences", status.swapped},
                                       {"free_host_blocks", status.free_host_blocks},
                                       {"total_host_blocks", status.total_host_blocks}};
  return Reply{.body = body.dump()};
}

Answer load(const RouteCall& call) {
  const engine::EngineStatus status = call.state.model().loop.status();
  const nlohmann::ordered_json body = {{"server_load", status.waiting + status.running}};
  return Reply{.body = body.dump()};
}

Answer trace(const RouteCall& call) {
  const auto& window = call.state.options.trace_window;
  std::string steps = window ? window() : std::string();
  if (steps.empty()) {
    return reply_of(request_error(
        404,
        "this server keeps no steps: --trace-window says for how many bytes of them there is room",
        "no_trace_window"));
  }
  return Reply{.body = std::move(steps),
               .headers = {{http::field::content_type, std::string(kJsonLines)},
                           {http::field::cache_control, "no-store"}}};
}

/// Takes no fields.
Answer cache_clear(const RouteCall& call) {
  if (call.body.empty()) return CacheClear{};
  if (const auto error = read_body(call.body, [](const json::Fields&) {})) return reply_of(*error);
  return CacheClear{};
}

Answer models(const RouteCall& call) { return Reply{.body = models_json(call.state.model().card)}; }

Answer model(const RouteCall& call) {
  const ModelCard& model = call.state.model().card;
  if (call.id == model.id) return Reply{.body = model_json(model)};
  return reply_of(model_not_found(call.id, model));
}

Answer props(const RouteCall& call) {
  const ServedModel& model = call.state.model();
  return Reply{.body = model_props(model.card, model.loop.tokenizer(),
                                   model.loop.config().batch.max_batch_size)};
}

Answer tokenizer_info(const RouteCall& call) {
  const ServedModel& model = call.state.model();
  return Reply{.body = serve::tokenizer_info(model.card, model.loop.tokenizer())};
}

}  // namespace handlers
}  // namespace forge::serve
