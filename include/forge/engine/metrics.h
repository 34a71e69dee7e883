// EngineMetrics: what the loop thread counts for operators, in plain integers.
//
// When is a server slow, and where does the time of a request go? Each request leaves its times in
// histograms:
//
//   arrival    submit    first scheduled      first token                    last token    end
//      |---------|-------------|-------------------|------------------------------|         |
//      |         |<-- queue -->|<---- prefill ---->|<---------- decode ---------->|         |
//      |                       |<------------------ inference ------------------->|         |
//      |<------------- time to first token ------->|                                        |
//      |<---------------------------------- end to end ------------------------------------>|
//
// A request that is preempted stays in the interval that it is in: what preemption costs is seen
// there. An interval is counted at the request's end, if both its ends have happened; the time to
// the first token and the time between two tokens as soon as they are over. Tokens of one step
// arrive together, so the time between tokens is counted once a step and request. Names, edges and
// meanings are those of vLLM (its loggers, and its page "Metrics"), so that what reads its
// numbers reads these.
//
// The clock is read a few times a step (Engine::step_times), never for a token: all that a step
// yields has the step's time. Nothing here allocates or locks; the loop copies the whole once a
// step to where other threads find it (EngineLoop::metrics).
//
// Thread contract: a value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "forge/core/step_plan.h"
#include "forge/engine/histogram.h"
#include "forge/engine/step_times.h"

namespace forge::engine {

/// One request, as far as it has come.
struct RequestProgress {
  TimePoint arrival;  ///< of its text, before it became tokens
  TimePoint submitted;
  std::optional<TimePoint> scheduled;  ///< for the first time
  std::optional<TimePoint> first_token;
  TimePoint last_token;  ///< so far, if there is a first one
  std::uint32_t prompt_tokens = 0;
  std::uint32_t max_new_tokens = 0;
  std::uint32_t cached_tokens = 0;      ///< of the prompt, found when it was first admitted
  std::uint32_t completion_tokens = 0;  ///< so far, as the caller counts them
  std::uint32_t run_tokens = 0;         ///< leading tokens that have been run, or were cached

  /// For the first time, by the plan of a step.
  void admit(std::uint32_t cached, TimePoint planned) {
    scheduled = planned;
    cached_tokens = run_tokens = cached;
  }
  std::optional<TimePoint::duration> queued() const {
    return scheduled ? std::optional(*scheduled - submitted) : std::nullopt;
  }
};

// Upper edges of buckets.
inline constexpr std::array kTimeToFirstTokenEdges{.001, .005, .01, .02,  .04,  .06,  .08, .1,
                                                   .25,  .5,   .75, 1.,   2.5,  5.,   7.5, 10.,
                                                   20.,  40.,  80., 160., 640., 2560.};
inline constexpr std::array kTokenTimeEdges{.01, .025, .05, .075, .1,  .15, .2,  .3,  .4, .5,
                                            .75, 1.,   2.5, 5.,   7.5, 10., 20., 40., 80.};
inline constexpr std::array kRequestTimeEdges{.3,  .5,   .8,   1.,   1.5,  2.,    2.5,
                                              5.,  10.,  15.,  20.,  30.,  40.,   50.,
                                              60., 120., 240., 480., 960., 1920., 7680.};
inline constexpr std::array kTokensOfStepEdges{1.,   8.,    16.,   32.,   64.,   128.,  256.,
                                               512., 1024., 2048., 4096., 8192., 16384.};
/// Up to the largest number of tokens that a request may have.
inline constexpr std::array kTokensOfRequestEdges{1.,  2.,  5.,  1e1, 2e1, 5e1, 1e2, 2e2, 5e2, 1e3,
                                                  2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6,
                                                  5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 2e9};
/// Of steps and their parts, from 10 microseconds on.
inline constexpr std::array kStepTimeEdges{.00001, .00002, .00005, .0001, .0002, .0005, .001,
                                           .002,   .005,   .01,    .02,   .05,   .1,    .2,
                                           .5,     1.,     2.,     5.,    10.};

/// Drafts, by their place among those of a step.
struct DraftMetrics {
  /// The most drafts that a step may verify of a sequence; places beyond are not told apart.
  static constexpr std::size_t kPlaces = 64;

  std::uint64_t rounds = 0;    ///< slices with drafts
  std::uint64_t proposed = 0;  ///< drafts verified
  std::uint64_t accepted = 0;  ///< those that were kept
  std::array<std::uint64_t, kPlaces> accepted_at{};
  std::size_t places = 0;  ///< the longest round so far
};

struct EngineMetrics {
  using TimesOfRequests = Histogram<kRequestTimeEdges>;
  using TokensOfRequests = Histogram<kTokensOfRequestEdges>;

  // Of steps.
  Histogram<kStepTimeEdges> step_time;           ///< begun to ended
  Histogram<kStepTimeEdges> schedule_time;       ///< begun to planned
  Histogram<kStepTimeEdges> execute_time;        ///< planned to executed
  Histogram<kTokensOfStepEdges> tokens_of_step;  ///< that ran, those of prompts and drafts included
  TimePoint last_step;                           ///< its end; before the first, the loop's begin
  DraftMetrics drafts;
  std::uint32_t overtaken_max = 0;  ///< of the requests that were admitted (policy.h)

  // Of prompts, once their first token is there.
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_prompt_tokens = 0;  ///< those found when their request was first admitted
  /// Tokens of prompts that ran once more because a preemption had dropped their KV; as they run.
  std::uint64_t repeated_prompt_tokens = 0;

  Histogram<kTimeToFirstTokenEdges> time_to_first_token;
  Histogram<kTokenTimeEdges> time_between_tokens;

  // Of requests that have ended.
  std::array<std::uint64_t, Names<FinishReason>::kCount> ended{};  ///< by reason
  TimesOfRequests end_to_end, queue, inference, prefill, decode;
  Histogram<kTokenTimeEdges> time_per_token;  ///< decode / (tokens - 1), of two tokens or more
  TokensOfRequests prompt_length, completion_length;
  TokensOfRequests max_new_tokens;     ///< what they asked for
  TokensOfRequests prompt_tokens_run;  ///< of each prompt, those that were not cached

  /// O(slices).
  void add_step(const StepPlan& plan, const StepResult& result, const StepTimes& times);

  /// `slice` of a step that ended at `now` has run for the request. O(1).
  void add_slice(RequestProgress& request, const Slice& slice, const SliceResult& result,
                 TimePoint now);

  void add_end(const RequestProgress& request, FinishReason reason, TimePoint now);
};

}  // namespace forge::engine
