// ServeCounts: what of the metrics the engine cannot know: answers of HTTP, and what belongs to all
// choices of a prompt together.
//
// A path that a client made up would be a series of its own for ever; so an answer is counted under
// the pattern of its route, one that the table has, and under its class of status:
//
//   GET /v1/models/gpt  ->  404  ->  {handler="/v1/models/ID", method="GET", status="4xx"}
//   PUT /wp-login.php   ->  404  ->  {handler="none", method="other", status="4xx"}
//
// A request of a WebSocket (message_stream.h) is one of the route that it names, with the method
// "WS". An answer counts when it begins to be written. Whose client goes away before that has none.
//
// Thread contract: the I/O thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>

#include "client_table.h"
#include "forge/engine/metrics.h"
#include "forge/serve/openai_api.h"
#include "http_types.h"

namespace forge::serve {

struct Route;

/// What is known of a request once its header is there.
struct Asked {
  const Route* route = nullptr;  ///< of its path; null: there is none
  http::verb method = http::verb::unknown;
};

inline constexpr std::array kChoicesEdges{1., 2., 5., 10., 20.};

struct ServeCounts {
  /// Route, label of the method and first digit of the status. Those that have happened: at most
  /// routes * methods * classes.
  std::map<std::tuple<const Route*, std::string_view, unsigned>, std::uint64_t> answers;

  // Of each prompt that was run, at the end of its request.
  engine::Histogram<kChoicesEdges> choices;                ///< asked for
  engine::EngineMetrics::TokensOfRequests longest_choice;  ///< in tokens

  /// Refused for a limit of their client with 429, by LimitKind.
  std::array<std::uint64_t, kNames<LimitKind>.size()> limited{};

  void add_answer(const Asked& asked, unsigned status);
  /// To a request of a WebSocket.
  void add_message(const Route& route, unsigned status);

  void add_limited(LimitKind kind) { ++limited[static_cast<std::size_t>(kind)]; }

  /// `tokens`: of each choice, as CompletionRequest numbers them.
  void add_request(const CompletionRequest& request, std::span<const std::uint32_t> tokens);
};

/// What counts and records call the method of a request of a WebSocket.
inline constexpr std::string_view kWebSocketMethod = "WS";

}  // namespace forge::serve
