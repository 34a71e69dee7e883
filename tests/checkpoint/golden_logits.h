// Logits of a checkpoint against those of an implementation in double precision.
#pragma once

#include <nlohmann/json.hpp>

#include "forge/checkpoint/checkpoint.h"

namespace forge::testing {

/// A float32 pass in another order errs like the one that was measured (tests/golden/models,
/// README, "Precision").
double golden_tolerance(const nlohmann::json& golden);

/// Expects the logits at some positions within the tolerance, and the largest of every position.
/// `golden` has tokens, positions, logits, argmax and float32_error. Weights become floats first:
/// then nothing rounds activations.
void expect_golden_logits(const checkpoint::Checkpoint& checkpoint, const nlohmann::json& golden);

}  // namespace forge::testing
