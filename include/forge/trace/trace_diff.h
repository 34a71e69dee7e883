// First differences: between two values, and between two traces.
//
// A difference is a field path with both values, in the spelling of the trace format:
//   slices[3].count: 2 against 1
// Lists are compared element by element; if one is a prefix of the other, their sizes differ:
//   admitted.size: 1 against 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge::trace {

struct Difference {
  std::string field;
  std::string left;
  std::string right;

  friend bool operator==(const Difference&, const Difference&) = default;
};
/// "field: left against right"
std::string to_string(const Difference& difference);

/// The first difference in the order of the fields' declaration, or nothing if equal.
std::optional<Difference> first_difference(const StepPlan& left, const StepPlan& right);
std::optional<Difference> first_difference(const StepResult& left, const StepResult& right);
std::optional<Difference> first_difference(const CacheDelta& left, const CacheDelta& right);
std::optional<Difference> first_difference(const SchedulerSnapshot& left,
                                           const SchedulerSnapshot& right);
std::optional<Difference> first_difference(const TraceHeader& left, const TraceHeader& right);
/// Fields are named from the event on: "step.slices[3].count", "result.tokens[0]", "link",
/// "submit.request.prompt[2]"; "event" if the kinds differ.
std::optional<Difference> first_difference(const TraceEvent& left, const TraceEvent& right);

/// The place where two traces part. `step` is the step that differs, or the next one to come if a
/// submission or cancellation differs.
struct EventDifference {
  StepId step;
  TracePlace left;
  TracePlace right;
  Difference difference;
};

struct TraceComparison {
  std::optional<Difference> header;
  std::optional<EventDifference> event;
  std::uint64_t equal_steps = 0;  ///< steps before the first different event

  bool equal() const { return !header && !event; }
};

/// One of the two traces could not be read.
struct ComparisonError {
  bool in_left = false;
  TraceError error;
};

/// Reads both to the first different event. A different header does not end the comparison:
/// where the runs part is still of interest. `next` is the step to come, if the readers are in the
/// middle; what comes before counts as equal.
tl::expected<TraceComparison, ComparisonError> compare(TraceReader& left, TraceReader& right,
                                                       StepId next = {});

}  // namespace forge::trace
