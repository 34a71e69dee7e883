// Who waits, who runs and what was asked for, as words; what they mean is said in step_frame.h.
#pragma once

#include "forge/trace/trace_timeline.h"
#include "plan_words.h"

namespace forge::trace::detail {

Words waiting_words(const TraceState& state);
Words swapped_words(const TraceState& state);
Words running_words(const TraceState& state);
Words asked_words(const TraceMoment& moment);

}  // namespace forge::trace::detail
