// LoadRun: an OpenAI server under a workload, measured where its clients are.
//
//   closed     so many clients, each with one request at a time: how fast can it go?
//   poisson    requests come at random, so many a second on the mean, whatever the server does
//   recorded   they come when those of the workload came
//
// Prompts are token ids (the bytes of the workload's prompts, 1 .. 256, which every vocabulary
// has), so that lengths are exact on any server: POST /v1/completions, streamed, greedy, past the
// end of the text. Times are those of events, as clients see them. Where requests come by
// themselves, a request's time begins when it was due, not when a busy client got round to it
// (Tene, "How NOT to Measure Latency", on coordinated omission).
//
// One thread: what it takes itself is the server's loss where they share cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/names.h"
#include "http_url.h"
#include "workload.h"

namespace forge::apps {

enum class LoadKind : std::uint8_t { closed, poisson, recorded };
constexpr Names<LoadKind> names_of(LoadKind) { return {"closed", "poisson", "recorded"}; }

struct LoadOptions {
  HttpUrl url;                   ///< its path is not used
  std::string api_key;           ///< empty: none is sent
  bool any_certificate = false;  ///< the server's need not be trusted
  std::string model;             ///< empty: the first that GET /v1/models lists
  LoadKind kind = LoadKind::closed;
  std::uint32_t concurrency = 16;  ///< closed: clients
  double rate = 0;                 ///< poisson: requests a second
};

/// A request, in seconds since the run began.
struct LoadRequest {
  double due = 0;               ///< when it was sent, or should have been
  std::optional<double> first;  ///< event with a token
  double last = 0;              ///< event with a token, so far
  std::uint32_t prompt_tokens = 0;
  std::uint32_t events = 0;         ///< with tokens
  std::uint32_t output_tokens = 0;  ///< as the server counts them, or else events
  std::vector<float> gaps;          ///< between events with tokens
  std::string error;                ///< empty: it is complete
};

struct LoadResult {
  std::string model;
  double seconds = 0;                 ///< from the first that was due to the last event
  std::vector<LoadRequest> requests;  ///< that were begun, in the order in which they were due
  bool interrupted = false;
};

/// Sends all of `workload`. `go_on` is called with the number of requests that have ended, at least
/// every 100 ms; false ends the run, and requests under way are left out. Errors: a sentence; the
/// server does not answer GET /v1/models, which is asked first.
tl::expected<LoadResult, std::string> run_load(const LoadOptions& options, const Workload& workload,
                                               const std::function<bool(std::size_t)>& go_on);

}  // namespace forge::apps
