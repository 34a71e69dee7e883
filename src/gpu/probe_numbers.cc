#include "probe_numbers.h"

#include <cmath>

#include "forge/numerics/philox.h"
#include "forge/numerics/tensor_product.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;

constexpr std::uint64_t kSeedOfRows = 1;
constexpr std::uint64_t kSeedOfWeights = 2;
constexpr float kLarge = 0x1p10f;
constexpr float kSmall = 0x1p-14f;

std::uint16_t half_bits(float x, HalfType type) {
  return type == HalfType::f16 ? numerics::half_of<numerics::F16>(x).bits
                               : numerics::half_of<numerics::BF16>(x).bits;
}

std::uint32_t word(std::uint64_t seed, int row, int k) {
  const auto at = [](int index) { return static_cast<std::uint32_t>(index); };
  return numerics::philox({{at(row), at(k), 0, 0}}, seed).x[0];
}

/// In [0, count).
int below(std::uint32_t word, int count) {
  return static_cast<int>(word % static_cast<std::uint32_t>(count));
}

float spread(std::uint32_t word) {
  constexpr int kExponents = 17;
  const float fraction = 1.0f + static_cast<float>(word >> 8 & 0x3ff) * 0x1p-10f;
  const float sign = (word & 0x80000000u) != 0 ? -1.0f : 1.0f;
  return sign * std::ldexp(fraction, below(word & 0xff, kExponents) - kExponents / 2);
}

/// number_at(row, k) of all.
template <class NumberAt>
std::vector<std::uint16_t> matrix(HalfType type, int rows, int inputs, const NumberAt& number_at) {
  std::vector<std::uint16_t> numbers;
  numbers.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs));
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < inputs; ++k) numbers.push_back(half_bits(number_at(row, k), type));
  }
  return numbers;
}

}  // namespace

std::vector<std::uint16_t> probe_rows(ProbeKind kind, HalfType type, int rows, int inputs) {
  if (kind == ProbeKind::spread) {
    return matrix(type, rows, inputs,
                  [](int row, int k) { return spread(word(kSeedOfRows, row, k)); });
  }
  return matrix(type, rows, inputs, [inputs](int row, int k) {
    const int first = below(word(kSeedOfRows, row, 0), inputs);
    const int second = below(word(kSeedOfRows, row, 1), inputs);
    return k == first ? kLarge : k == second ? -kLarge : kSmall;
  });
}

std::vector<std::uint16_t> probe_weights(ProbeKind kind, HalfType type, int outputs, int inputs) {
  if (kind == ProbeKind::spread) {
    return matrix(type, outputs, inputs,
                  [](int row, int k) { return spread(word(kSeedOfWeights, row, k)); });
  }
  return matrix(type, outputs, inputs, [](int row, int k) {
    return (word(kSeedOfWeights, row, k) & 1) != 0 ? 1.0f : -1.0f;
  });
}

}  // namespace forge::gpu
