// CudaDevice: what it says where it cannot work, on any machine, and after a kernel's fault, on one
// with a GPU. What it does where all is well is tests/gpu/device_contract_test.cc.
#include "forge/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forge::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CudaDevice, opening_one_without_a_gpu_or_without_a_toolkit_is_an_error_that_says_so) {
  if (device_count() > 0) GTEST_SKIP() << "there is a GPU here";
  const auto opened = open_device(2);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().device, "2");
  EXPECT_EQ(opened.error().call, built_with_cuda() ? "cudaGetDeviceCount" : "open_device");
  EXPECT_THAT(opened.error().message,
              HasSubstr(built_with_cuda() ? "cudaError" : "without a CUDA toolkit"));
  EXPECT_FALSE(opened.error().lost);
}

TEST(CudaDevice, a_device_that_does_not_exist_is_an_error_that_says_how_many_do) {
  const int count = device_count();
  if (count == 0) GTEST_SKIP() << "there is no GPU here";
  for (const int index : {count, -1}) {
    const auto opened = open_device(index);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().device, std::to_string(index));
    EXPECT_THAT(opened.error().message, HasSubstr("one of " + std::to_string(count) + " devices"));
  }
}

TEST(CudaDevice, a_device_is_opened_and_closed_again_and_again) {
  if (device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  for (int round = 0; round < 3; ++round) {
    const auto opened = open_device();
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_THAT((*opened)->info().name, Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace forge::cuda
