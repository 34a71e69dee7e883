// The devices that a test of gpu::Device's users runs on: one test body, an instance for each.
//
//   class MyTest : public testing::DeviceTest {};
//   TEST_P(MyTest, story) { device().allocate(...); }
//   FORGE_FOR_EACH_DEVICE(MyTest);
//
// Where there is no GPU, or no CUDA in the build, the cuda instances are skipped and say why.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "forge/cuda/cuda_device.h"
#include "forge/sim/sim_device.h"

namespace forge::testing {

enum class DeviceKind : std::uint8_t { sim, cuda };

class DeviceTest : public ::testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (GetParam() == DeviceKind::sim) {
      device_ = std::make_unique<sim::SimDevice>(
          sim::SimOptions{.device = sim::find_device("h200").value()});
      return;
    }
    if (!cuda::built_with_cuda()) GTEST_SKIP() << "this build has no CUDA";
    if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
    auto opened = cuda::open_device();
    ASSERT_TRUE(opened) << opened.error().call << ": " << opened.error().message;
    device_ = std::move(*opened);
  }

  gpu::Device& device() { return *device_; }

 private:
  std::unique_ptr<gpu::Device> device_;
};

inline std::string device_name(const ::testing::TestParamInfo<DeviceKind>& info) {
  return info.param == DeviceKind::sim ? "sim" : "cuda";
}

}  // namespace forge::testing

#define FORGE_FOR_EACH_DEVICE(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      devices, suite,                                                                           \
      ::testing::Values(::forge::testing::DeviceKind::sim, ::forge::testing::DeviceKind::cuda), \
      ::forge::testing::device_name)
