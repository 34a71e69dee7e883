#include "device_weights.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

/// Told of all weights, one after the other, by name: to upload them, or to count their bytes.
class WeightSink {
 public:
  WeightSink() = default;
  WeightSink(const WeightSink&) = delete;
  WeightSink& operator=(const WeightSink&) = delete;
  virtual ~WeightSink() = default;

  /// Returns: where they are on the device; null if there are none.
  virtual const void* bytes(const char* name, const void* data, std::uint64_t bytes) = 0;

  const float* vector(const char* name, const std::vector<float>& vector) {
    if (vector.empty()) return nullptr;
    return static_cast<const float*>(bytes(name, vector.data(), sizeof(float) * vector.size()));
  }

  DeviceMatrix matrix(const char* name, const linear::LinearWeights& weights,
                      const std::vector<float>& bias = {}) {
    DeviceMatrix matrix{.inputs = weights.inputs(), .outputs = weights.outputs()};
    for (const linear::Section& section : weights.sections()) {
      const auto panels = static_cast<std::uint64_t>(section.panel_count());
      matrix.sections.push_back(
          {.panels = bytes(name, section.panels, panels * section.panel_bytes),
           .kind = *weight_kind(section.kind),
           .first_output = section.first_output,
           .outputs = section.outputs});
    }
    matrix.bias = vector(name, bias);
    return matrix;
  }

  const void* rows(const char* name, const linear::StoredLinear& stored) {
    const auto& form = std::get<linear::StoredRows>(stored.form);
    const auto row = *quant::bytes_of(form.type, static_cast<std::size_t>(stored.inputs));
    return bytes(name, form.rows, static_cast<std::uint64_t>(stored.outputs) * row);
  }
};

/// Takes memory for tensors and queues their upload.
class Uploader final : public WeightSink {
 public:
  Uploader(Allocator& allocator, CommandQueue& queue, std::vector<Buffer>& buffers)
      : allocator_(allocator), queue_(queue), buffers_(buffers) {}

  const void* bytes(const char* name, const void* data, std::uint64_t bytes) override {
    Buffer buffer = allocator_.take<std::byte>(MemoryKind::device, bytes, name);
    if (!allocator_.status()) return nullptr;
    queue_.copy(buffer.as<std::byte>(), data, bytes, CopyDirection::to_device);
    buffers_.push_back(std::move(buffer));
    return buffers_.back().as<std::byte>();
  }

 private:
  Allocator& allocator_;
  CommandQueue& queue_;
  std::vector<Buffer>& buffers_;
};

class Counter final : public WeightSink {
 public:
  const void* bytes(const char*, const void*, std::uint64_t bytes) override {
    sum_ += bytes;
    return nullptr;
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

DeviceGroupedQuery attention_of(const model::PackedGroupedQuery& packed, WeightSink& to) {
  return {.qkv = to.matrix("weights: qkv", packed.qkv, packed.qkv_bias),
          .query_norm = to.vector("weights: query norm", packed.query_norm),
          .key_norm = to.vector("weights: key norm", packed.key_norm),
          .output = to.matrix("weights: output", packed.output, packed.output_bias)};
}

DeviceFeedForward network_of(const model::PackedFeedForward& packed, WeightSink& to) {
  return {.gate_up = to.matrix("weights: gate and up", packed.gate_up),
          .down = to.matrix("weights: down", packed.down)};
}

DeviceLayer layer_of(const model::PackedModelLayer& packed, WeightSink& to) {
  return {.attention_norm = to.vector("weights: attention norm", packed.attention_norm),
          .attention = attention_of(std::get<model::PackedGroupedQuery>(packed.attention), to),
          .ffn_norm = to.vector("weights: ffn norm", packed.ffn_norm),
          .feed_forward = network_of(std::get<model::PackedFeedForward>(packed.feed_forward), to)};
}

}  // namespace

DeviceWeights::DeviceWeights(const GpuModel& model, std::uint32_t positions, Allocator& allocator,
                             CommandQueue& queue) {
  const model::PackedModel& weights = model.weights();
  host_rotary_ = std::make_unique<model::RotaryTable>(model.config().rope);
  host_rotary_->ensure(positions);

  Uploader to(allocator, queue, buffers_);
  embedding_ = to.rows("weights: embedding", weights.embedding);
  embedding_kind_ = *weight_kind(linear::panel_kind(weights.embedding));
  for (const model::PackedModelLayer& layer : weights.layers) {
    layers_.push_back(layer_of(layer, to));
  }
  final_norm_ = to.vector("weights: final norm", weights.final_norm);
  head_ = to.matrix("weights: head", weights.head);
  rotary_ = static_cast<const float*>(
      to.bytes("rotary table", host_rotary_->cos(0), rotary_bytes(model.config(), positions)));
  queue.synchronize();
  if (queue.status()) host_rotary_.reset();
}

std::uint64_t DeviceWeights::device_bytes(const GpuModel& model) {
  const model::PackedModel& weights = model.weights();
  Counter counter;
  counter.rows("embedding", weights.embedding);
  for (const model::PackedModelLayer& layer : weights.layers) layer_of(layer, counter);
  counter.vector("final norm", weights.final_norm);
  counter.matrix("head", weights.head);
  return counter.sum();
}

std::uint64_t DeviceWeights::rotary_bytes(const model::ModelConfig& model,
                                          std::uint32_t positions) {
  return std::uint64_t{sizeof(float)} * positions * static_cast<std::uint64_t>(model.rope.size);
}

}  // namespace forge::gpu
