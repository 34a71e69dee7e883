#include "device_weights.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

std::uint64_t floats_of_panels(int outputs, int inputs) {
  const auto panels = static_cast<std::uint64_t>(ceil_div(outputs, linear::kPanelOutputs));
  return panels * static_cast<std::uint64_t>(inputs) * linear::kPanelOutputs;
}

std::uint64_t floats_of_rows(int rows, int width) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(width);
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
  const float* upload(const char* name, const std::vector<float>& vector) {
    return upload(name, vector.data(), vector.size());
  }
  /// Panels of floats: GpuModel accepts no other.
  const float* upload(const char* name, const linear::LinearWeights& weights) {
    const linear::Section& section = weights.sections().front();
    return upload(name, reinterpret_cast<const float*>(section.panels),
                  floats_of_panels(weights.outputs(), weights.inputs()));
  }

 private:
  Allocator& allocator_;
  CommandQueue& queue_;
  std::vector<Buffer>& buffers_;
};

}  // namespace

DeviceWeights::DeviceWeights(const GpuModel& model, std::uint32_t positions, Allocator& allocator,
                             CommandQueue& queue) {
  const model::PackedModel& weights = model.weights();
  host_rotary_ = std::make_unique<model::RotaryTable>(model.config().rope);
  host_rotary_->ensure(positions);

  Uploader to(allocator, queue, buffers_);
  const auto& embedding = std::get<linear::StoredRows>(weights.embedding.form);
  embedding_ = to.upload("weights: embedding", reinterpret_cast<const float*>(embedding.rows),
                         floats_of_rows(weights.embedding.outputs, weights.embedding.inputs));
  for (const model::PackedModelLayer& layer : weights.layers) {
    const auto& attention = std::get<model::PackedGroupedQuery>(layer.attention);
    const auto& network = std::get<model::PackedFeedForward>(layer.feed_forward);
    layers_.push_back({.attention_norm = to.upload("weights: attention norm", layer.attention_norm),
                       .qkv = to.upload("weights: qkv", attention.qkv),
                       .output = to.upload("weights: output", attention.output),
                       .ffn_norm = to.upload("weights: ffn norm", layer.ffn_norm),
                       .gate_up = to.upload("weights: gate and up", network.gate_up),
                       .down = to.upload("weights: down", network.down)});
  }
  final_norm_ = to.upload("weights: final norm", weights.final_norm);
  head_ = to.upload("weights: head", weights.head);
  rotary_ = to.upload("rotary table", host_rotary_->cos(0),
                      floats_of_rows(static_cast<int>(positions), model.config().rope.size));
  queue.synchronize();
  if (queue.status()) host_rotary_.reset();
}

std::uint64_t DeviceWeights::device_bytes(const model::ModelConfig& m, std::uint32_t positions) {
  const auto& a = std::get<model::GroupedQueryConfig>(m.attention);
  const int d = m.hidden_size;
  const int query = a.heads * a.head_size;
  const int kv = a.kv_heads * a.head_size;
  const std::uint64_t norm = floats_of_rows(1, d);
  const std::uint64_t layer = 2 * norm + floats_of_panels(query + 2 * kv, d) +
                              floats_of_panels(d, query) + floats_of_panels(2 * m.ffn_size, d) +
                              floats_of_panels(d, m.ffn_size);
  return sizeof(float) *
         (floats_of_rows(m.vocabulary_size, d) + static_cast<std::uint64_t>(m.layers) * layer +
          norm + floats_of_panels(m.vocabulary_size, d) +
          floats_of_rows(static_cast<int>(positions), m.rope.size));
}

}  // namespace forge::gpu
