#include "route_table.h"

#include <array>

#include "forge/serve/http_server.h"
#include "handlers.h"

namespace forge::serve {
namespace {

using enum Method;
using enum Audience;

/// What is answered whatever the server does.
constexpr Route always(std::string_view path, std::string_view what, Handler handle) {
  return {.method = get,
          .path = path,
          .audience = everyone,
          .body = BodyKind::none,
          .what = what,
          .handle = handle,
          .needs_model = false};
}

constexpr Route generator(std::string_view path, std::string_view what, Handler handle) {
  return {.method = post,
          .path = path,
          .audience = clients,
          .body = BodyKind::json,
          .what = what,
          .handle = handle,
          .generates = true};
}

constexpr std::array kRoutes = {
    always("/", "a page to try the model in a browser ([serving.md](serving.md#the-page))",
           handlers::page),
    always("/health",
           "200 if requests should come here; else 503 and why not: `loading`, `shutting_down`, "
           "`stalled` (there is work, and it does not get on), `target_lost`",
           handlers::ready),
    always("/healthz", "the same", handlers::ready),
    always("/health/ready", "the same", handlers::ready),
    always("/health/live", "200, or 503 if only a new start can help: `stalled`, `target_lost`",
           handlers::live),
    always("/ping", "the same, for SageMaker", handlers::ready),
    always("/version", "the version of the server", handlers::version),
    Route{get, "/load", clients, BodyKind::none, "how many requests wait or run, as of vLLM",
          handlers::load},
    Route{get, "/props", clients, BodyKind::none,
          "the context, the places and the chat template, as of llama.cpp", handlers::props},
    Route{get, "/forge/v1/health", operators, BodyKind::none,
          "what the engine has done and holds; the status is that of /health", handlers::health},
    Route{get, "/forge/v1/trace", operators, BodyKind::none,
          "the last steps as a trace, for forge-trace and the page "
          "([serving.md](serving.md#the-last-steps))",
          handlers::trace},
    Route{get, "/metrics", operators, BodyKind::none,
          "counters, gauges and histograms for Prometheus ([metrics.md](metrics.md)); for everyone "
          "with `--metrics-open`",
          handlers::metrics, false, true},
    Route{get, "/forge/v1/metrics", operators, BodyKind::none, "the same", handlers::metrics, false,
          true},
    Route{get, "/v1/models", clients, BodyKind::none, "a list of the one model", handlers::models},
    Route{get, "/v1/models/", clients, BodyKind::none, "its entry", handlers::model, true},
    generator("/generate", "the text that goes on after a prompt", handlers::generate),
    generator("/v1/completions", "OpenAI's completions; with `stream` Server-Sent Events",
              handlers::completions),
    generator("/v1/chat/completions", "the same for messages", handlers::chat),
    generator("/forge/v1/generate",
              "the tokens that go on after a prompt, their log-probabilities and flip risks, and a "
              "receipt that can be checked ([serving.md](serving.md#receipts))",
              handlers::forge_generate),
    Route{post, "/forge/v1/batch", clients, BodyKind::json_lines,
          "of each line, a request of completions or chat, the answer as a line "
          "([serving.md](serving.md#batches))",
          handlers::batch, false, false, true, true},
    Route{get, "/forge/v1/stream", clients, BodyKind::messages,
          "a WebSocket, whose messages are requests of the routes above and what is answered "
          "([serving.md](serving.md#many-requests-on-a-websocket))",
          handlers::stream},
    Route{post, "/v1/completions/render", clients, BodyKind::json,
          "what that request would run: the tokens of its prompts; nothing runs",
          handlers::completions_render},
    Route{post, "/v1/chat/completions/render", clients, BodyKind::json, "the same for messages",
          handlers::chat_render},
    Route{get, "/forge/v1/cache/stats", operators, BodyKind::none,
          "what the prefix cache and the host memory have done and hold", handlers::cache_stats},
    Route{post, "/forge/v1/cache/clear", operators, BodyKind::json,
          "forgets all cached prefixes, those of sessions too", handlers::cache_clear},
    Route{del, "/forge/v1/sessions/", clients, BodyKind::none,
          "gives up the KV and the messages of a session; 404 if there is no such session",
          handlers::session_release, true},
    Route{post, "/tokenize", clients, BodyKind::json, "the tokens of a text or of messages",
          handlers::tokenize},
    Route{post, "/detokenize", clients, BodyKind::json, "the text of tokens", handlers::detokenize},
    Route{get, "/tokenizer_info", clients, BodyKind::none, "the special tokens of the tokenizer",
          handlers::tokenizer_info},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

bool has_path(const Route& route, std::string_view path) {
  return route.takes_id ? path.starts_with(route.path) : path == route.path;
}

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (has_path(route, path)) return &route;
  }
  return nullptr;
}

std::string pattern_of(const Route& route) {
  return std::string(route.path) + (route.takes_id ? "ID" : "");
}

std::string routes_page() {
  std::string page = R"(# Routes

What `forge-infer` answers, as `forge-infer --list-routes` prints it. Any other path is 404, another method
405; a GET may be a HEAD. [fields.md](fields.md) has the fields of bodies. What is for clients or operators
needs a key where the server has keys ([serving.md](serving.md#who-may-ask)). What is for everyone is
answered even when every connection that the server takes is busy.

| method | path | body | for | answer |
|---|---|---|---|---|
)";
  for (const Route& route : kRoutes) {
    page += "| " + std::string(name_of(route.method)) + " | `" + pattern_of(route) + "` | " +
            std::string(name_of(route.body)) + " | " + std::string(name_of(route.audience)) +
            " | " + std::string(route.what) + " |\n";
  }
  return page;
}

}  // namespace forge::serve
