// WeightKind: how the weights of a model lie in device memory. Kernels widen them to floats, which
// is exact, when they have read them. Weights are finite numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forge::gpu {

enum class WeightKind : std::uint8_t { f32, f16, bf16 };

constexpr std::size_t bytes_of(WeightKind kind) { return kind == WeightKind::f32 ? 4 : 2; }

}  // namespace forge::gpu
