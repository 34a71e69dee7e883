// A model on its way to the device: through two rooms, from files that may fail.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "allocator.h"
#include "command_queue.h"
#include "executor/seeded_gpu_model.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/model/stored_shapes.h"
#include "forge/sim/sim_device.h"
#include "model/stored_weights.h"
#include "null_device.h"
#include "weight_upload.h"

namespace forge::gpu {
namespace {

using testing::StoredWeights;

executor::ExecutorOptions small_options() {
  return {.cache = {.num_blocks = 8, .block_size = 4}, .draft_layers = 1};
}

sim::SimDevice device_of(sim::FaultInjector faults = {}) {
  return sim::SimDevice({.device = sim::find_device("h200").value(), .faults = std::move(faults)});
}

/// A store on a simulated device, whose copies are not done before somebody waits for them.
class WeightUploadOnDevice : public ::testing::Test {
 protected:
  void upload_numbers(std::uint32_t first, std::uint32_t count, WeightUpload& upload) {
    std::byte* const room = upload.room(count * sizeof(std::uint32_t));
    ASSERT_NE(room, nullptr);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t number = first + i;
      std::memcpy(room + i * sizeof number, &number, sizeof number);
    }
    upload.put();
  }

  std::vector<std::uint32_t> on_device(const std::byte* place, std::size_t count) {
    std::vector<std::uint32_t> numbers(count);
    queue_.copy(numbers.data(), place, count * sizeof(std::uint32_t), CopyDirection::to_host);
    queue_.synchronize();
    return numbers;
  }

  sim::SimDevice device_ = device_of();
  std::unique_ptr<Stream> stream_ = device_.create_stream().value();
  CommandQueue queue_{*stream_};
  Allocator allocator_{device_};
  std::vector<Buffer> buffers_;
};

TEST_F(WeightUploadOnDevice, a_room_is_not_filled_before_it_was_copied) {
  WeightUpload upload(64, allocator_, &queue_, buffers_);
  const std::byte* const place = upload.place(100 * 64);
  for (std::uint32_t i = 0; i < 100; ++i) upload_numbers(16 * i, 16, upload);
  const auto numbers = on_device(place, 1600);
  for (std::uint32_t i = 0; i < 1600; ++i) ASSERT_EQ(numbers[i], i);
  EXPECT_FALSE(upload.has_failed());
}

TEST_F(WeightUploadOnDevice, places_that_are_reserved_follow_one_another) {
  WeightUpload upload(256, allocator_, &queue_, buffers_);
  const std::byte* const before = upload.place(64);
  upload.reserve(256);
  const std::byte* const first = upload.place(64);
  const std::byte* const second = upload.place(192);
  upload_numbers(7, 48, upload);
  const std::byte* const after = upload.place(64);
  EXPECT_EQ(second, first + 64);
  EXPECT_TRUE(after != second + 192 && before + 64 != first);
  EXPECT_EQ(on_device(second, 48).back(), 7U + 47U);
  EXPECT_EQ(buffers_.size(), 3U);
}

TEST(Loading, has_the_digest_of_what_the_cpu_packs) {
  for (const model::ModelConfig& config : {testing::wide_experts(), testing::wide_latent()}) {
    StoredWeights weights;
    const model::StoredModel stored = weights.random(config, quant::WeightType::q4_k);
    linear::ThreadPool threads(2);
    const auto packed = pack(config, stored, threads).value();
    const auto model = GpuModel::of(config, stored, threads).value();
    testing::NullDevice device;
    const auto executor = GpuExecutor::create(device, model, small_options());
    ASSERT_TRUE(executor);
    EXPECT_EQ((*executor)->weights_digest(executor::PassModel::model), packed.digest);
  }
}

/// The shapes of Llama-3-8B: nothing of its weights is looked at.
struct LargeModel {
  LargeModel() {
    config.vocabulary_size = 128256;
    config.hidden_size = 4096;
    config.layers = 32;
    config.ffn_size = 14336;
    config.positions = 8192;
    config.attention = model::GroupedQueryConfig{.heads = 32, .kv_heads = 8, .head_size = 128};
    stored = model_shapes(config);
  }
  GpuMemory memory(const executor::ExecutorOptions& options, const GpuOptions& gpu = {}) {
    return GpuExecutor::memory(GpuModel::of(config, stored, threads).value(), options, gpu);
  }

  model::ModelConfig config = testing::wide_llama();
  model::StoredModel stored;
  linear::ThreadPool threads{1};
};

TEST(Loading, takes_two_rooms_of_the_host_whatever_the_size_of_the_model) {
  const GpuMemory memory = LargeModel().memory(small_options());
  EXPECT_EQ(memory.weights.pinned, std::uint64_t{32} << 20);
  EXPECT_EQ(memory.weights.device, 4 * 8030261248U) << "of all parameters, as floats";
}

TEST(GpuMemory, scratch_is_that_of_a_chunk_of_rows_and_of_the_longest_text) {
  LargeModel model;
  executor::ExecutorOptions options{.cache = {.num_blocks = 8192, .block_size = 16}};
  options.batch.max_batch_tokens = 8192;
  const std::uint64_t few = model.memory(options, {.chunk_rows = 512}).scratch.device;
  const std::uint64_t many = model.memory(options, {.chunk_rows = 4096}).scratch.device;
  const std::uint64_t row = 4 * (2 * 4096 + 3 * 14336 + 4096 + 6144);  // of what layers make
  EXPECT_EQ(many - few, (4096 - 512) * row);

  const GpuMemory small = model.memory(options);
  options.cache.num_blocks *= 8;
  const GpuMemory large = model.memory(options);
  EXPECT_EQ(large.kv.device, 8 * small.kv.device);
  EXPECT_EQ(large.scratch.device, small.scratch.device) << "whatever the size of the pool";
}

/// Everything is in a file of which byte `fails_at` cannot be read.
class FailingReader final : public linear::WeightReader {
 public:
  explicit FailingReader(const std::byte* fails_at) : fails_at_(fails_at) {}
  bool is_in_memory(const std::byte* /*from*/) const override { return false; }
  tl::expected<void, linear::ReadFault> read(const std::byte* from,
                                             std::span<std::byte> to) const override {
    if (fails_at_ >= from && fails_at_ < from + to.size()) {
      return tl::unexpected(linear::ReadFault{fails_at_, EIO});
    }
    return linear::MemoryReader().read(from, to);
  }

 private:
  const std::byte* fails_at_;
};

TEST(Loading, weights_that_cannot_be_read_are_an_error_and_nothing_stays) {
  const model::ModelConfig config = testing::wide_experts();
  StoredWeights weights;
  const model::StoredModel stored = weights.random(config, quant::WeightType::bf16);
  const auto first_byte = [](const linear::StoredLinear& matrix) {
    return std::get<linear::StoredRows>(matrix.form).rows;
  };
  const auto& experts = std::get<model::StoredExperts>(stored.layers[1].mlp).experts;
  for (const linear::StoredLinear* matrix : {&experts[3].down, &stored.embedding}) {
    FailingReader reader(first_byte(*matrix) + 10);
    linear::ThreadPool threads(2);
    const auto model = GpuModel::of(config, stored, threads, &reader).value();
    sim::SimDevice device = device_of();
    const auto executor = GpuExecutor::create(device, model, small_options());
    ASSERT_FALSE(executor);
    const auto& error = std::get<WeightsError>(executor.error());
    EXPECT_FALSE(error.is_draft);
    EXPECT_EQ(std::get<linear::ReadFault>(error.fault).at, first_byte(*matrix) + 10);
    EXPECT_EQ(device.statistics().bytes_allocated, 0U);

    const GpuModels drafted(testing::seeded_gpu_model({.vocabulary_size = 4096}), model);
    const auto with_draft = GpuExecutor::create(device, drafted, small_options());
    ASSERT_FALSE(with_draft);
    EXPECT_TRUE(std::get<WeightsError>(with_draft.error()).is_draft);
  }
}

TEST(Loading, a_number_that_is_not_finite_is_an_error_with_its_place) {
  const model::ModelConfig config = testing::wide_llama();
  StoredWeights weights;
  const model::StoredModel stored = weights.random(config, quant::WeightType::f32);
  const auto& down = std::get<model::StoredMlp>(stored.layers[0].mlp).down;
  const auto* const rows = std::get<linear::StoredRows>(down.form).rows;
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(const_cast<std::byte*>(rows) + 4 * (3 * down.inputs + 5), &infinite, 4);
  linear::ThreadPool threads(1);
  const auto model = GpuModel::of(config, stored, threads).value();
  testing::NullDevice device;
  const auto executor = GpuExecutor::create(device, model, small_options());
  ASSERT_FALSE(executor);
  const auto& error = std::get<WeightsError>(executor.error());
  const auto& fault = std::get<model::WeightFault>(error.fault);
  EXPECT_EQ(fault.numbers, rows);
  EXPECT_EQ(fault.row, 3U);
  EXPECT_EQ(fault.column, 5U);
}

TEST(Loading, a_device_that_fails_at_a_call_of_it_is_an_error_and_nothing_stays) {
  const model::ModelConfig config = testing::wide_latent();
  StoredWeights weights;
  const model::StoredModel stored = weights.random(config, quant::WeightType::bf16);
  linear::ThreadPool threads(2);
  const auto model = GpuModel::of(config, stored, threads).value();
  std::uint64_t calls = 0;
  {
    sim::SimDevice device = device_of([&](const sim::DeviceCall& call) {
      calls = call.index;
      return sim::Fault::none;
    });
    ASSERT_TRUE(GpuExecutor::create(device, model, small_options()));
  }
  for (std::uint64_t at = 0; at < calls; at += 1 + calls / 40) {
    sim::SimDevice device = device_of([&](const sim::DeviceCall& call) {
      return call.index == at ? sim::Fault::fails : sim::Fault::none;
    });
    const auto executor = GpuExecutor::create(device, model, small_options());
    ASSERT_FALSE(executor) << "call " << at;
    EXPECT_TRUE(std::holds_alternative<DeviceError>(executor.error()));
    EXPECT_EQ(device.statistics().bytes_allocated, 0U);
  }
}

}  // namespace
}  // namespace forge::gpu
