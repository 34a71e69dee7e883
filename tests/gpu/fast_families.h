// Families for tests of fast numerics: the golden models' properties, in sizes that tensor cores
// take.
//
// What a family has is what its config.json says: each is read from the one that tests/golden has,
// by the reader that a checkpoint has, with sizes rounded up to multiples of what fast_shapes.h
// asks for. Weights are random (stored_weights.h).
#pragma once

#include <string>
#include <vector>

#include "gpu/fast_models.h"

namespace forge::testing {

/// Each is named after a folder of tests/golden/models: those that have a config of their own.
/// Ascending by name.
std::vector<FastShape> family_shapes();

/// The families of the CPU's table (src/checkpoint/families.h) that none of `shapes` is of.
std::vector<std::string> families_without(const std::vector<FastShape>& shapes);

}  // namespace forge::testing
