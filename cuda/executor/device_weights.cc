#include "device_weights.h"

#include "forge/model/rotary_table.h"

namespace forge::gpu {
namespace {

std::uint64_t floats_of_panels(int outputs, int inputs) {
  const auto panels = static_cast<std::uint64_t>(ceil_div(outputs, numerics::kPanelWidth));
  return panels * static_cast<std::uint64_t>(inputs) * numerics::kPanelWidth;
}

/// Takes memory for tensors and queues their upload.
class Uploader {
 public:
  Uploader(Allocator& allocator, CommandQueue& queue, std::vector<Buffer>& buffers)
      : allocator_(allocator), queue_(queue), buffers_(buffers) {}

  const float* upload(const char* name, const float* data, std::uint64_t floats) {
    Buffer buffer = allocator_.take<float>(MemoryKind::device, floats, name);
    if (!allocator_.status()) return nullptr;
    queue_.copy(buffer.as<float>(), data, buffer.bytes(), CopyDirection::to_device);
    buffers_.push_back(std::move(buffer));
    return buffers_.back().as<float>();
  }
  const float* upload(const char* name, const Vector& vector) {
    return upload(name, vector.data(), static_cast<std::uint64_t>(vector.size()));
  }
  const float* upload(const char* name, const numerics::PackedMatrix& matrix) {
    return upload(name, matrix.panel(0), floats_of_panels(matrix.outputs(), matrix.inputs()));
  }

 private:
  Allocator& allocator_;
  CommandQueue& queue_;
  std::vector<Buffer>& buffers_;
};

}  // namespace

/// What is uploaded.
struct DeviceWeights::HostCopies {
  PackedWeights weights;
  RotaryTable rotary;
};

DeviceWeights::DeviceWeights(const TinyConfig& model, std::uint32_t positions, Allocator& allocator,
                             CommandQueue& queue) {
  host_ = std::make_unique<HostCopies>(
      HostCopies{packed(model, seeded_weights(model)), RotaryTable(model)});
  host_->rotary.ensure(positions);
  const PackedWeights& weights = host_->weights;

  Uploader to(allocator, queue, buffers_);
  embedding_ = to.upload("weights: embedding", weights.embedding.data(),
                         static_cast<std::uint64_t>(weights.embedding.size()));
  for (const PackedLayer& layer : weights.layers) {
    layers_.push_back({.attention_norm = to.upload("weights: attention norm", layer.attention_norm),
                       .qkv = to.upload("weights: qkv", layer.qkv),
                       .output = to.upload("weights: output", layer.output),
                       .ffn_norm = to.upload("weights: ffn norm", layer.ffn_norm),
                       .gate_up = to.upload("weights: gate and up", layer.gate_up),
                       .down = to.upload("weights: down", layer.down)});
  }
  final_norm_ = to.upload("weights: final norm", weights.final_norm);
  head_ = to.upload("weights: head", weights.head);
  rotary_ = to.upload("rotary table", host_->rotary.cos(0),
                      std::uint64_t{positions} * static_cast<unsigned>(model.head_size));
  queue.synchronize();
  if (queue.status()) host_.reset();
}

DeviceWeights::~DeviceWeights() = default;

std::uint64_t DeviceWeights::device_bytes(const TinyConfig& m, std::uint32_t positions) {
  const auto d = static_cast<std::uint64_t>(m.hidden_size);
  const std::uint64_t layer =
      2 * d + floats_of_panels(m.query_size() + 2 * m.kv_size(), m.hidden_size) +
      floats_of_panels(m.hidden_size, m.query_size()) +
      floats_of_panels(2 * m.ffn_size, m.hidden_size) + floats_of_panels(m.hidden_size, m.ffn_size);
  const std::uint64_t embedding = d * static_cast<std::uint64_t>(m.vocabulary_size);
  const std::uint64_t head = floats_of_panels(m.vocabulary_size, m.hidden_size);
  const std::uint64_t rotary = std::uint64_t{positions} * static_cast<unsigned>(m.head_size);
  return sizeof(float) *
         (embedding + static_cast<std::uint64_t>(m.layers) * layer + d + head + rotary);
}

}  // namespace forge::gpu
