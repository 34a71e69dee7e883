// Prints a hash of what each canonical function returns on fixed inputs, one line per function.
//
// golden_hashes.cmake builds this with several compilers and optimisation levels and requires
// golden_hashes.txt of each. That file was made by golden_oracle.py, which evaluates the same
// definitions in exact rational arithmetic; keep the two in step. Needs no library of the project.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "forge/numerics/reference.h"

namespace forge::numerics {
namespace {

constexpr std::uint32_t kInputs = 2048;

/// FNV-1a over 32-bit words as 8 bytes each, little endian.
class Hash {
 public:
  void add(std::uint32_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      const std::uint64_t value = byte < 4 ? word >> (8 * byte) & 0xff : 0;
      state_ = (state_ ^ value) * 1099511628211u;
    }
  }
  void add(float x) { add(bits_of(x)); }
  void add(const std::vector<float>& values) {
    for (const float x : values) add(x);
  }
  void print(const char* name) const {
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(state_));
  }

 private:
  std::uint64_t state_ = 14695981039346656037u;
};

std::uint32_t word(std::uint32_t index, std::uint64_t stream) {
  return philox({{index, 0, 0, 0}}, stream).x[0];
}

/// In (-range, range), for a power of two `range`: every operation is exact.
float value(std::uint32_t index, std::uint64_t stream, float range) {
  return (uniform_open(word(index, stream)) - 0.5f) * 2.0f * range;
}

std::vector<float> values(std::uint32_t count, std::uint64_t stream, float range) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < count; ++i) x.push_back(value(i, stream, range));
  return x;
}

/// Any positive finite float, subnormals and zero included.
float any_positive(std::uint32_t index, std::uint64_t stream) {
  return float_of(word(index, stream) % 0x7f800000u);
}

template <class Function>
void hash_function(const char* name, Function function) {
  Hash hash;
  for (std::uint32_t i = 0; i < kInputs; ++i) hash.add(function(i));
  hash.print(name);
}

void hash_philox() {
  Hash hash;
  for (std::uint32_t i = 0; i < kInputs; ++i) {
    const Words4 words = philox({{i, i * i, ~i, 7}}, 0x0123456789abcdefu + i);
    for (const std::uint32_t random : words.x) {
      hash.add(random);
      hash.add(uniform_open(random));
    }
  }
  hash.print("philox");
}

void hash_rotary() {
  Hash hash;
  for (int position = 0; position < 4096; position += 61) {
    for (int pair = 0; pair < 16; ++pair) {
      const auto [sin, cos] = sincos(position * rotary_frequency(10'000.0, pair, 32));
      hash.add(sin);
      hash.add(cos);
    }
  }
  hash.print("rotary");
}

void hash_reductions() {
  Hash sums;
  Hash squares;
  Hash products;
  for (std::uint32_t n = 1; n < 700; n += 37) {
    const auto x = values(n, n, 8.0f);
    const auto w = values(n, n + 1000, 1.0f);
    sums.add(sum_reference(x.data(), static_cast<int>(n)));
    squares.add(sum_of_squares_reference(x.data(), static_cast<int>(n)));
    products.add(product_reference(x.data(), w.data(), static_cast<int>(n)));
  }
  sums.print("sum");
  squares.print("sum_of_squares");
  products.print("product");
}

void hash_rows() {
  const auto x = values(100, 1, 4.0f);
  const auto weight = values(100, 2, 1.0f);
  std::vector<float> y(100);
  Hash norms;
  rms_norm_reference(x.data(), weight.data(), 100, 1e-5f, y.data());
  norms.add(y);
  norms.print("rms_norm");

  Hash gates;
  silu_multiply_reference(x.data(), weight.data(), 100, y.data());
  gates.add(y);
  gates.print("silu_multiply");

  Hash rotations;
  y = x;
  rotate_pairs_reference(y.data(), weight.data(), weight.data() + 50, 50);
  rotations.add(y);
  rotations.print("rotate_pairs");
}

void hash_attention() {
  constexpr int kHeadSize = 8;
  constexpr int kLength = 520;  // three segments
  const auto q = values(kHeadSize, 1, 4.0f);
  const auto pool = values(2 * kHeadSize * kLength, 2, 2.0f);
  const std::uint32_t block = 0;
  const PagedKV kv = {.keys = pool.data(),
                      .values = pool.data() + kHeadSize * kLength,
                      .block_stride = 0,
                      .block_size = kLength,
                      .head_size = kHeadSize,
                      .blocks = {&block, 1},
                      .length = kLength};
  std::vector<float> out(kHeadSize);
  attend_reference({.q = q.data(), .heads = 1, .scale = 0.25f}, kv, out.data());
  Hash hash;
  hash.add(out);
  hash.print("attention");
}

}  // namespace
}  // namespace forge::numerics

int main() {
  using namespace forge::numerics;
  hash_philox();
  hash_function("exp", [](std::uint32_t i) { return exp(value(i, 3, 128.0f)); });
  hash_function("log", [](std::uint32_t i) { return log(any_positive(i, 4)); });
  hash_function("silu", [](std::uint32_t i) { return silu(value(i, 5, 128.0f)); });
  hash_function("rsqrt", [](std::uint32_t i) { return rsqrt(any_positive(i, 6)); });
  hash_rotary();
  hash_reductions();
  hash_rows();
  hash_attention();
}
