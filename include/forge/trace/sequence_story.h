// The story of a sequence: what became of it, from its submission to its end.
//
//   steps 8..11     waits and is next: the batch is full
//   step 12         waits behind 5 of its user
//   step 20         ends: deadline
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/trace/trace_reader.h"

namespace forge::trace {

/// Steps that follow each other and say the same: a change, or a reason to wait. Steps in which the
/// sequence only runs are part of none.
struct StoryPart {
  StepId first;
  StepId last;
  std::string words;

  friend bool operator==(const StoryPart&, const StoryPart&) = default;
};

/// Nothing, if the trace has no such sequence. Errors: the trace cannot be read or contradicts
/// itself. Reads all of it.
tl::expected<std::optional<std::vector<StoryPart>>, TraceError> story_of(TraceReader& trace,
                                                                         SeqId seq);

}  // namespace forge::trace
