// explore: every state that a World can reach, breadth first.
//
// States are told apart by their digests, so each is expanded once. Kept of a visited state are the
// digest and the way to it (its parent and the number of the event); the worlds themselves are kept
// for the states at the rim only. Breadth first means that the way to a violation is a shortest
// one.
//
// When all states are known, so are all runs: the graph of the states with work must have no
// cycle. Then nothing that callers and targets do, in any order, keeps a request from its end: no
// deadlock, no livelock, and the longest path bounds every wait. A cycle is reported as a violation
// with one way around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "world.h"

namespace forge::testing {

/// What went wrong and the events that lead there.
struct Violation {
  std::string text;
  std::vector<Event> events;

  /// Which of the promises is broken: the text up to the colon.
  std::string promise() const { return text.substr(0, text.find(':')); }
};

struct Exploration {
  std::uint64_t states = 0;
  std::uint64_t edges = 0;
  std::uint32_t depth = 0;        ///< events on the shortest way to the farthest state
  std::uint32_t longest_run = 0;  ///< steps that can pass before no work is left
  std::optional<Violation> violation;
};

Exploration explore(const Instance& instance);

/// What happens if `events` happen; those that cannot are left out. Returns the violation, with
/// the events up to it, if there is one.
std::optional<Violation> replay(const Instance& instance, const std::vector<Event>& events);

}  // namespace forge::testing
