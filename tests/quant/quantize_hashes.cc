// Prints a hash of what quantize() stores for fixed rows, one line a type.
//
// tests/quant/CMakeLists.txt builds this with several compilers and optimisation levels and
// requires quantize_hashes.txt of each: the search compares sums of rounded numbers, so that one
// addition in another order can change a stored byte. The file was made by this program; that the
// bytes are good is what the other tests show.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "forge/numerics/philox.h"
#include "forge/quant/quantize.h"

namespace {

using forge::quant::WeightType;

/// FNV-1a.
std::uint64_t hash_of(const std::vector<std::byte>& bytes) {
  std::uint64_t state = 14695981039346656037u;
  for (const std::byte byte : bytes) {
    state = (state ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211u;
  }
  return state;
}

/// Bell-shaped numbers of magnitudes that change from block to block, with an outlier now and then.
/// Every operation is exact, or one rounding.
std::vector<float> fixed_row() {
  std::vector<float> row(64 * 256);
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    const forge::numerics::Words4 words = forge::numerics::philox({{i, 0, 0, 0}}, 2024);
    float sum = -2.0F;
    for (const std::uint32_t word : words.x) sum += forge::numerics::uniform_open(word);
    const float outlier = words.x[0] % 97 == 0 ? 16.0F : 1.0F;
    row[i] = std::ldexp(sum * outlier, static_cast<int>(i / 256) - 48);
  }
  return row;
}

}  // namespace

int main() {
  const std::vector<float> row = fixed_row();
  for (const WeightType type : forge::quant::kWeightTypes) {
    if (type == WeightType::i8) continue;
    std::vector<std::byte> stored(*forge::quant::bytes_of(type, row.size()));
    const double relative = forge::quant::quantize(type, row, stored.data()).relative();
    std::printf("%s %016llx %a\n", forge::quant::name_of(type).data(),
                static_cast<unsigned long long>(hash_of(stored)), relative);
  }
}
