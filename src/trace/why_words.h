// How the reasons of a step (trace_why.h) are said.
#pragma once

#include <string>

#include "forge/trace/trace_why.h"

namespace forge::trace::detail {

/// "3 gives way (recompute): blocks are short; ..."
std::string victim_words(const VictimChoice& choice);

/// "7 is admitted: its client has had less"
std::string turn_words(const TurnChoice& choice);

/// "9 is next and waits: the batch is full"
std::string end_words(const StepReasons& reasons);

/// "3  normal, 2 output tokens"
std::string standing_words(const SequenceView& view);

/// "7  client 2 has had 0, user 0 0, place 71"
std::string standing_words(const TracedCandidate& candidate);

}  // namespace forge::trace::detail
