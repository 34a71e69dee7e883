// What is done with a violation: made small, and written down.
#pragma once

#include <iosfwd>

#include "explorer.h"

namespace forge::testing {

/// Leaves out events, and makes answers plain, one by one, as long as the same promise is still
/// broken. A breadth-first search has found the shortest way already if it looked at this instance
/// alone, so what goes is what was on the way but not to blame.
Violation shrink(const Instance& instance, Violation violation);

/// Plays the events and records them as a trace (forge/trace/trace_json.h). A plan that is in
/// flight at the end is there too, with the plain answers that it did not come to.
void write_trace(const Instance& instance, const std::vector<Event>& events, std::ostream& out);

}  // namespace forge::testing
