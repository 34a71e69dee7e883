// What is read here and done elsewhere: by the tokenizer's threads and the engine.
#include <charconv>
#include <optional>

#include "forge/core/quoted.h"
#include "generation.h"
#include "handlers.h"
#include "ownership.h"
#include "rate_limits.h"
#include "request_intake.h"

namespace forge::serve {
namespace {

/// More prompts than the queue can hold will never be taken, so the client need not come again.
std::optional<ApiError> queue_error(const UntokenizedRequest& request, std::size_t queue_limit) {
  if (request.prompts.size() <= queue_limit) return std::nullopt;
  return bad_field("prompt", "prompt has " + std::to_string(request.prompts.size()) +
                                 " prompts; accepted are 1 .. " + std::to_string(queue_limit) +
                                 ", as many as the queue of this server holds");
}

Reply shutting_down() { return reply_of(engine::LoopError(engine::ShuttingDown{})); }

/// Refuses whatever can be refused before texts become tokens.
Answer job(RequestKind kind, const RouteCall& call, bool render_only = false) {
  auto request = take_in(kind, call, {.render_only = render_only});
  if (!request) return request.error();
  if (render_only || is_of_tokenizer(kind)) return *std::move(request);
  const auto taken =
      Generation::would_start(call.state.model().loop, *request, request->prompts.size());
  if (!taken) return reply_of(taken.error());
  return *std::move(request);
}

}  // namespace

tl::expected<UntokenizedRequest, Reply> take_in(RequestKind kind, const RouteCall& call,
                                                const Intake& intake) {
  const ServerState& state = call.state;
  const ServedModel& model = state.model();
  if (state.phase != Phase::serving) return tl::unexpected(shutting_down());
  auto parsed = parse_request(kind, call.body, model.card);
  if (!parsed) return tl::unexpected(reply_of(parsed.error()));
  const Client& client = call.client;
  parsed->owner = client.owner;
  parsed->client = client.id;
  parsed->weight = client.limits.weight;
  if (is_of_tokenizer(kind)) return *std::move(parsed);
  if (const auto error = length_error(*parsed, model.card, model.loop.tokenizer())) {
    return tl::unexpected(reply_of(*error));
  }
  parsed->render_only = intake.render_only;
  if (intake.render_only) return *std::move(parsed);
  if (!parsed->priority) parsed->priority = intake.priority;
  if (auto refused = settle_priority(*parsed, client.limits)) {
    return tl::unexpected(*std::move(refused));
  }
  if (const auto error = queue_error(*parsed, model.loop.options().queue_limit)) {
    return tl::unexpected(reply_of(*error));
  }
  return *std::move(parsed);
}

namespace handlers {

Answer generate(const RouteCall& call) { return job(RequestKind::generate, call); }
Answer completions(const RouteCall& call) { return job(RequestKind::completions, call); }
Answer chat(const RouteCall& call) { return job(RequestKind::chat, call); }
Answer forge_generate(const RouteCall& call) {
  if (call.state.model().card.fingerprint) return job(RequestKind::forge_generate, call);
  return reply_of(request_error(
      501, "no model runs here that an answer could be checked with: ask POST /v1/completions",
      "no_receipts"));
}
Answer completions_render(const RouteCall& call) {
  return job(RequestKind::completions, call, true);
}
Answer chat_render(const RouteCall& call) { return job(RequestKind::chat, call, true); }
Answer tokenize(const RouteCall& call) { return job(RequestKind::tokenize, call); }
Answer detokenize(const RouteCall& call) { return job(RequestKind::detokenize, call); }

Answer batch(const RouteCall& call) {
  if (call.state.phase != Phase::serving) return shutting_down();
  return BatchOfLines{};
}

Answer stream(const RouteCall& call) {
  if (call.state.phase != Phase::serving) return shutting_down();
  return StreamOfMessages{};
}

Answer session_release(const RouteCall& call) {
  const std::string& id = call.id;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
  if (error == std::errc() && end == id.data() + id.size() && value <= kSessionIdMax) {
    return SessionRelease{SessionId(value), session_of(call.client.owner, SessionId(value))};
  }
  return reply_of(request_error(400, in_quotes(id) +
                                         " is not the id of a session: accepted are integers "
                                         "from 0 to " +
                                         std::to_string(kSessionIdMax)));
}

}  // namespace handlers
}  // namespace forge::serve
