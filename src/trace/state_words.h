// Words for the sequences that wait and run, and for what was asked for; step_frame.h says what
// they mean.
#pragma once

#include "forge/trace/trace_timeline.h"
#include "plan_words.h"

namespace forge::trace::detail {

Words waiting_words(const TraceState& state);
Words swapped_words(const TraceState& state);
Words running_words(const TraceState& state);
Words asked_words(const TraceMoment& moment);

}  // namespace forge::trace::detail
