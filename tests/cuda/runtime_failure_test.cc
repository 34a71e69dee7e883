// CudaDevice over a runtime that fails on purpose: which error comes of it, and that nothing is
// left behind. The device contract runs over the same runtime (tests/gpu/device_contract_test.cc).
#include <gmock/gmock.h>

#include <cstring>

#include "cuda/fake_runtime.h"
#include "forge/cuda/cuda_device.h"

namespace forge::cuda {
namespace {

using testing::fail_next;
using ::testing::HasSubstr;
using testing::live_objects;
using testing::overlapping_launches;
using testing::reset_fake_runtime;

class RuntimeFailure : public ::testing::Test {
 protected:
  RuntimeFailure() {
    reset_fake_runtime();
    device_ = open_device().value();
  }

  std::unique_ptr<gpu::Device> device_;
};

void expect_error(const gpu::DeviceError& error, const std::string& call,
                  const std::string& purpose) {
  EXPECT_EQ(error.call, call);
  EXPECT_THAT(error.message, HasSubstr(purpose));
  EXPECT_EQ(error.device, "0, NVIDIA Fake");
}

TEST(OpenDevice, a_device_older_than_sm_80_is_refused_by_name) {
  reset_fake_runtime(7);
  const auto opened = open_device();
  ASSERT_FALSE(opened);
  expect_error(opened.error(), "cudaGetDeviceProperties",
               "compute capability 7.0 is older than the oldest supported, 8.0 (sm_80)");
}

TEST(OpenDevice, a_device_that_does_not_exist_is_refused_with_the_number_of_those_that_do) {
  reset_fake_runtime();
  const auto opened = open_device(1);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().device, "1");
  EXPECT_THAT(opened.error().message, HasSubstr("one of 1 devices, numbered from 0"));
}

TEST(OpenDevice, a_device_that_there_is_no_code_for_is_refused_with_the_kernel) {
  reset_fake_runtime();
  fail_next("cudaFuncGetAttributes", cudaErrorNoKernelImageForDevice);
  const auto opened = open_device();
  ASSERT_FALSE(opened);
  expect_error(opened.error(), "cudaFuncGetAttributes", "kernel update_tables: ");
}

TEST(OpenDevice, without_a_driver_there_is_no_device) {
  reset_fake_runtime();
  fail_next("cudaGetDeviceCount", cudaErrorInsufficientDriver);
  EXPECT_EQ(device_count(), 0);
  fail_next("cudaGetDeviceCount", cudaErrorInsufficientDriver);
  const auto opened = open_device();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().call, "cudaGetDeviceCount");
}

TEST_F(RuntimeFailure, a_failed_allocation_names_the_buffer_and_its_bytes) {
  fail_next("cudaMalloc", cudaErrorMemoryAllocation);
  const auto memory = device_->allocate(gpu::MemoryKind::device, 4096, "kv_pool");
  ASSERT_FALSE(memory);
  expect_error(memory.error(), "cudaMalloc", "kv_pool, 4096 bytes: out of memory");
  EXPECT_FALSE(memory.error().lost);

  fail_next("cudaHostAlloc", cudaErrorMemoryAllocation);
  const auto pinned = device_->allocate(gpu::MemoryKind::pinned, 64, "upload");
  ASSERT_FALSE(pinned);
  expect_error(pinned.error(), "cudaHostAlloc", "upload, 64 bytes: out of memory");
}

TEST_F(RuntimeFailure, every_call_of_a_stream_names_itself_and_what_it_was_for) {
  const auto stream = device_->create_stream().value();
  const auto event = device_->create_event().value();
  const gpu::Buffer pair = device_->allocate(gpu::MemoryKind::pinned, 64, "pair").value();
  const gpu::CopyBlocksArgs args{.pairs = pair.as<gpu::BlockPair>(),
                                 .source = pair.as<float>(),
                                 .target = pair.as<float>(),
                                 .block_bytes = 16};
  const auto expect_failure = [&](const char* call, const char* purpose, const auto& body) {
    fail_next(call, cudaErrorInvalidValue);
    const gpu::Status status = body();
    ASSERT_FALSE(status) << call;
    expect_error(status.error(), call, purpose);
    EXPECT_FALSE(status.error().lost);
  };
  expect_failure("cudaMemcpyAsync", "64 bytes to the device", [&] {
    return stream->copy(pair.as<void>(), pair.as<void>(), 64, gpu::CopyDirection::to_device);
  });
  expect_failure("cudaMemcpyAsync", "8 bytes to the host", [&] {
    return stream->copy(pair.as<void>(), pair.as<void>(), 8, gpu::CopyDirection::to_host);
  });
  expect_failure("cudaLaunchKernelExC", "copy_blocks, grid 3x1x1, 256 threads a block",
                 [&] { return stream->launch(gpu::launch_of(args, args.shape(3))); });
  gpu::KernelLaunch large = gpu::launch_of(args, args.shape(3));
  large.shape.shared_bytes = 100'000;
  expect_failure("cudaFuncSetAttribute",
                 "copy_blocks, grid 3x1x1, 256 threads a block, 100000 bytes of shared memory",
                 [&] { return stream->launch(large); });
  expect_failure("cudaEventRecord", "an event", [&] { return stream->record(*event); });
  expect_failure("cudaStreamWaitEvent", "another stream", [&] { return stream->wait(*event); });
  expect_failure("cudaEventSynchronize", "before the event", [&] { return event->synchronize(); });
  expect_failure("cudaStreamBeginCapture", "a graph", [&] { return stream->begin_capture(); });
  expect_failure("cudaStreamSynchronize", "queued", [&] { return stream->synchronize(); });
  EXPECT_TRUE(stream->synchronize()) << "the stream goes on";
}

// A kernel that declares shared memory leaves less than 48 KiB for what is given without asking.
TEST_F(RuntimeFailure, a_launch_asks_for_all_of_its_dynamic_shared_memory) {
  const auto stream = device_->create_stream().value();
  const gpu::Buffer count = device_->allocate(gpu::MemoryKind::pinned, 64, "count").value();
  std::memset(count.as<void>(), 0, 64);
  gpu::FinishProductArgs args{};  // of no rows
  args.product.row_count = count.as<std::uint32_t>();
  ASSERT_GT(gpu::FinishProductArgs::kResources.shared_bytes, 0);
  for (const int bytes : {48 * 1024, 1024, 100'000}) {
    gpu::KernelLaunch launch = gpu::launch_of(args, {.grid = {1, 1, 1}, .threads = 256});
    launch.shape.shared_bytes = bytes;
    EXPECT_TRUE(stream->launch(launch)) << bytes;
  }
}

TEST(Launches, overlap_where_they_say_so_and_the_device_can) {
  for (const int major : {8, 9}) {
    reset_fake_runtime(major);
    const auto device = open_device().value();
    const auto stream = device->create_stream().value();
    const gpu::Buffer pair = device->allocate(gpu::MemoryKind::pinned, 64, "pair").value();
    std::memset(pair.as<void>(), 0, 64);
    const gpu::CopyBlocksArgs args{.pairs = pair.as<const gpu::BlockPair>(),
                                   .source = pair.as<const float>(),
                                   .target = pair.as<float>(),
                                   .block_bytes = 4};
    gpu::KernelLaunch launch = gpu::launch_of(args, args.shape(1));
    ASSERT_TRUE(stream->launch(launch));
    EXPECT_EQ(overlapping_launches(), 0);
    launch.overlaps = true;
    ASSERT_TRUE(stream->launch(launch));
    EXPECT_EQ(overlapping_launches(), major >= 9 ? 1 : 0);
  }
}

TEST_F(RuntimeFailure, a_failure_while_a_graph_is_made_leaves_nothing_behind) {
  const auto stream = device_->create_stream().value();
  const int live = live_objects();
  for (const char* const call : {"cudaGraphGetNodes", "cudaGraphInstantiate", "cudaGraphUpload"}) {
    ASSERT_TRUE(stream->begin_capture());
    fail_next(call, cudaErrorMemoryAllocation);
    const auto graph = stream->end_capture();
    ASSERT_FALSE(graph) << call;
    expect_error(graph.error(), call, "a graph of 0 nodes");
    EXPECT_EQ(live_objects(), live) << call;
  }
}

TEST_F(RuntimeFailure, an_illegal_address_loses_the_device_for_every_later_call) {
  auto stream = device_->create_stream().value();
  auto memory = device_->allocate(gpu::MemoryKind::device, 4096, "kv_pool").value();
  fail_next("cudaStreamSynchronize", cudaErrorIllegalAddress);
  const gpu::Status waited = stream->synchronize();
  ASSERT_FALSE(waited);
  expect_error(waited.error(), "cudaStreamSynchronize", "an illegal memory access");
  EXPECT_TRUE(waited.error().lost);

  const auto more = device_->allocate(gpu::MemoryKind::device, 1, "more");
  ASSERT_FALSE(more);
  EXPECT_TRUE(more.error().lost);
  EXPECT_EQ(more.error().call, "cudaSetDevice");
  memory = {};
  stream.reset();  // frees what it can, and does not complain
}

TEST_F(RuntimeFailure, everything_made_is_freed) {
  {
    const auto stream = device_->create_stream().value();
    const auto event = device_->create_event().value();
    const auto memory = device_->allocate(gpu::MemoryKind::device, 1, "memory").value();
    const auto pinned = device_->allocate(gpu::MemoryKind::pinned, 1, "pinned").value();
    ASSERT_TRUE(stream->begin_capture());
    const auto graph = stream->end_capture().value();
    EXPECT_EQ(live_objects(), 5);
  }
  EXPECT_EQ(live_objects(), 0);
}

}  // namespace
}  // namespace forge::cuda
