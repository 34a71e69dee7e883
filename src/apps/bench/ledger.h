// Ledger: step times predicted by a model that was fitted to some runs, against what other runs
// measured.
//
// Repeats, recordings of one target and one workload, are one run: each step took the median of
// what it took in them. The model (step_time_model.h) is fitted to the steps of some runs. It is
// then asked for the steps of these and of runs that were held back, which no fit has seen: of
// another workload, in other processes. A run has the rows
//
//   decode, prefill, mixed   steps of a kind: medians, measured and predicted; the error of a step
//                            is |predicted / measured - 1|
//   TTFT, TPOT               of requests, p50 and p95 (latency_log.h), step times added up;
//                            measured is the median of what the repeats say
//
// The spread of a row is what the repeats differ in: the largest of what they measured there, over
// the smallest, less 1; of steps it is that of their medians. An error below the spread is noise: a
// better model could not be told from this one.
//
// Thread contract: values and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/names.h"
#include "step_recording.h"
#include "step_time_model.h"

namespace forge::apps {

/// The part of what was measured that errors at p50 shall stay below.
inline constexpr double kErrorGoal = 0.05;

enum class ErrorVerdict : std::uint8_t { noise, kept, missed };
constexpr Names<ErrorVerdict> names_of(ErrorVerdict) { return {"noise", "kept", "missed"}; }

struct LedgerRow {
  std::string name;        ///< "decode", "TTFT p95"
  std::size_t steps = 0;   ///< of a kind; 0: the row is one of requests
  double measured_us = 0;  ///< above 0
  double predicted_us = 0;
  double error = 0;              ///< relative; of steps that at p50
  double error_p95 = 0;          ///< of steps
  std::optional<double> spread;  ///< of two repeats or more
  bool has_goal = true;          ///< rows of requests at p95 have none

  /// Nothing where there is no goal, unless it is noise.
  std::optional<ErrorVerdict> verdict() const;
};

struct LedgerRun {
  RecordedWorkload workload;
  std::size_t repeats = 0;
  std::vector<LedgerRow> rows;  ///< those of which the run has something
};

struct Ledger {
  RecordedTarget target;
  StepTimeModel model;
  std::size_t steps_fitted = 0;
  std::vector<LedgerRun> fitted;
  std::vector<LedgerRun> held_back;
};

/// A recording, and what errors call it.
struct NamedRecording {
  std::string file;
  StepRecording recording;
};

/// Errors: recordings of different targets; repeats with different steps, or one of them twice; a
/// workload that is both fitted and held back; work held back of which the fit has seen nothing.
/// Requires: both are not empty, and their recordings are as read_recording() gives them.
tl::expected<Ledger, std::string> make_ledger(std::span<const NamedRecording> fit,
                                              std::span<const NamedRecording> held_back);

}  // namespace forge::apps
