// The search of explore_policy as a test, for the programs that have a change compiled in.
#include <gtest/gtest.h>

#include "exploration/instances.h"
#include "exploration/shrink.h"

namespace forge::testing {
namespace {

TEST(Exploration, of_every_state_finds_no_promise_broken) {
  for (const Instance& instance : small_instances()) {
    const Exploration found = explore(instance);
    if (!found.violation) continue;
    const Violation small = shrink(instance, *found.violation);
    std::string events;
    for (const Event& event : small.events) events += "\n  " + to_string(event);
    FAIL() << small.text << "\nafter " << small.events.size() << " events:" << events;
  }
}

}  // namespace
}  // namespace forge::testing
