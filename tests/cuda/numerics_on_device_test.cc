// The canonical numerics on a real GPU: the bits of the host, function by function.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "cuda/device_numerics.h"
#include "forge/cuda/cuda_device.h"
#include "forge/numerics/exp2.h"

namespace forge::testing {
namespace {

struct FunctionCase {
  const char* name;
  DeviceFunction function;
  float (*on_host)(float);
  bool (*in_domain)(float);
};

void PrintTo(const FunctionCase& function, std::ostream* out) { *out << function.name; }

class NumericsOnDevice : public ::testing::TestWithParam<FunctionCase> {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  }
};

/// The next floats of the domain, by ascending bits in steps of `step`, from `bits` on.
std::vector<float> next_inputs(const FunctionCase& function, std::uint64_t& bits,
                               std::uint64_t step) {
  constexpr std::size_t kInputs = std::size_t{1} << 22;
  std::vector<float> x;
  x.reserve(kInputs);
  for (; bits <= std::numeric_limits<std::uint32_t>::max() && x.size() < kInputs; bits += step) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(value) && function.in_domain(value)) x.push_back(value);
  }
  return x;
}

// Subnormals, infinities and both signs are among them.
TEST_P(NumericsOnDevice, every_61st_float_has_the_bits_of_the_host) {
  const FunctionCase& function = GetParam();
  std::uint64_t differing = 0;
  std::uint64_t compared = 0;
  for (std::uint64_t bits = 0; bits <= std::numeric_limits<std::uint32_t>::max();) {
    const std::vector<float> x = next_inputs(function, bits, 61);
    if (x.empty()) break;
    const std::vector<float> y = evaluate_on_device(function.function, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float expected = function.on_host(x[i]);
      if (std::bit_cast<std::uint32_t>(y[i]) == std::bit_cast<std::uint32_t>(expected)) continue;
      if (differing++ < 5)
        ADD_FAILURE() << std::hexfloat << x[i] << ": " << y[i] << ", host " << expected;
    }
    compared += x.size();
  }
  EXPECT_EQ(differing, 0u) << "of " << compared;
  EXPECT_GT(compared, 30'000'000u);
}

const FunctionCase kFunctions[] = {
    {"exp", DeviceFunction::exp, numerics::exp, [](float) { return true; }},
    {"exp2", DeviceFunction::exp2, numerics::exp2, [](float x) { return x <= 127; }},
    {"log", DeviceFunction::log, numerics::log, [](float x) { return x >= 0; }},
    {"silu", DeviceFunction::silu, numerics::silu,
     [](float x) { return x > -std::numeric_limits<float>::infinity(); }},
    {"rsqrt", DeviceFunction::rsqrt, numerics::rsqrt, [](float x) { return x >= 0; }},
    {"tanh", DeviceFunction::tanh, numerics::tanh, [](float) { return true; }},
};
INSTANTIATE_TEST_SUITE_P(functions, NumericsOnDevice, ::testing::ValuesIn(kFunctions),
                         [](const auto& test) { return std::string(test.param.name); });

// Whatever its bits, which are not those of the host: the device's own is 0x7fffffff.
TEST(NumericsOfNan, are_nan_on_the_device) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  std::vector<float> x;
  for (const std::uint32_t bits : {0x7fffffffu, 0xffc00000u, 0x7fc00001u, 0x7f800001u}) {
    x.push_back(std::bit_cast<float>(bits));
  }
  using enum DeviceFunction;
  for (const DeviceFunction function : {exp, exp2, silu, tanh}) {
    for (const float y : evaluate_on_device(function, x)) EXPECT_TRUE(std::isnan(y)) << y;
  }
}

// The values of tests/numerics/contraction_canary.h: 0 with two roundings, 2^-24 with one.
TEST(DeviceCompilerTest, a_product_and_a_sum_stay_apart_in_device_code) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  EXPECT_EQ(square_plus_on_device(0x1.001p+0f, -0x1.002p+0f), 0.0f);
}

}  // namespace
}  // namespace forge::testing
