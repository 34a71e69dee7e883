// A kernel that reads where nothing is: the device is lost, and everything says so. A program of
// its own, for no later call of the process can succeed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forge/cuda/cuda_device.h"

namespace forge::cuda {
namespace {

using ::testing::HasSubstr;

TEST(LostDevice, a_kernels_bad_address_comes_back_from_the_next_wait_and_from_every_later_call) {
  if (device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  const auto device = open_device().value();
  const auto stream = device->create_stream().value();
  const auto event = device->create_event().value();
  const gpu::Buffer target = device->allocate(gpu::MemoryKind::device, 256, "target").value();
  const gpu::Buffer pair = device->allocate(gpu::MemoryKind::pinned, 256, "pair").value();
  *pair.as<gpu::BlockPair>() = {.from = 0, .to = 0};
  const gpu::CopyBlocksArgs args{.pairs = pair.as<gpu::BlockPair>(),
                                 .source = reinterpret_cast<const float*>(16),
                                 .target = target.as<float>(),
                                 .block_bytes = 16};

  ASSERT_TRUE(stream->launch(gpu::launch_of(args, args.shape(1)))) << "a launch only queues";
  ASSERT_TRUE(stream->record(*event));
  const gpu::Status waited = event->synchronize();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().call, "cudaEventSynchronize");
  EXPECT_THAT(waited.error().message, HasSubstr("illegal memory access"));
  EXPECT_THAT(waited.error().device, HasSubstr("0, " + device->info().name));
  EXPECT_TRUE(waited.error().lost);

  const auto denied = device->allocate(gpu::MemoryKind::device, 256, "more");
  ASSERT_FALSE(denied);
  EXPECT_TRUE(denied.error().lost);
  const gpu::Status refused = stream->synchronize();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().lost);
}  // and what has been made can still be destroyed

}  // namespace
}  // namespace forge::cuda
