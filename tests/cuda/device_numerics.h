// The canonical functions as the GPU computes them, for tests that compare bits with the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forge::testing {

enum class DeviceFunction : std::uint8_t { exp, log, silu, rsqrt };

/// f(x) for each x. Aborts, naming the call, when the device fails. Requires: a GPU.
std::vector<float> evaluate_on_device(DeviceFunction function, std::span<const float> x);

/// a * a + c on the device: a product and a sum that the source keeps apart.
float square_plus_on_device(float a, float c);

}  // namespace forge::testing
