// The canonical functions as the GPU computes them, for tests that compare bits with the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/step_fragments.h"

namespace forge::testing {

enum class DeviceFunction : std::uint8_t { exp, exp2, log, silu, rsqrt, tanh };

/// f(x) for each x. Aborts, naming the call, when the device fails. Requires: a GPU.
std::vector<float> evaluate_on_device(DeviceFunction function, std::span<const float> x);

/// a * a + c on the device: a product and a sum that the source keeps apart.
float square_plus_on_device(float a, float c);

/// 9 for a GPU of compute capability 9.0.
int compute_capability_major();

/// What a tensor core makes of each fragment by one mma.m16n8k16: 16 x 8 outputs each.
std::vector<float> steps_on_device(std::span<const StepFragment<numerics::BF16>> fragments);
std::vector<float> steps_on_device(std::span<const StepFragment<numerics::F16>> fragments);

}  // namespace forge::testing
