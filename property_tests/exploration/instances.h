// What is explored: small memories, few requests, every kind of trouble.
#pragma once

#include <vector>

#include "world.h"

namespace forge::testing {

/// 3 requests, 6 blocks: block sizes 1 and 2, each preemption policy, each prefix cache; then
/// sessions, a cache that is cleared, and a step that has room for little.
std::vector<Instance> full_instances();

/// The same kinds of trouble in a fraction of the states; the fewest first.
std::vector<Instance> small_instances();

}  // namespace forge::testing
