#include "device_weights.h"

#include <functional>
#include <span>

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

/// Takes memory for weights, one after the other, and queues their upload; without a queue, it only
/// lets the allocator count them.
class Uploader {
 public:
  Uploader(Allocator& allocator, CommandQueue* queue, std::vector<Buffer>& buffers)
      : allocator_(allocator), queue_(queue), buffers_(buffers) {}

  struct Piece {
    const void* data;
    std::uint64_t bytes;
  };

  /// Puts the pieces one after the other. Returns: where they are on the device.
  const void* pieces(const char* name, std::span<const Piece> pieces) {
    std::uint64_t sum = 0;
    for (const Piece& piece : pieces) sum += piece.bytes;
    Buffer buffer = allocator_.take<std::byte>(MemoryKind::device, sum, name);
    if (buffer.bytes() == 0) return nullptr;
    auto* to = buffer.as<std::byte>();
    for (const Piece& piece : pieces) {
      queue_->copy(to, piece.data, piece.bytes, CopyDirection::to_device);
      to += piece.bytes;
    }
    buffers_.push_back(std::move(buffer));
    return buffers_.back().as<std::byte>();
  }

  const void* bytes(const char* name, const void* data, std::uint64_t bytes) {
    const Piece piece{data, bytes};
    return pieces(name, std::span(&piece, 1));
  }

  /// Null if there are none.
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

  /// Each is one section, and all are alike: GpuModel accepts no others.
  template <class Owners, class Projection = std::identity>
  DeviceMatrices matrices(const char* name, const Owners& owners, Projection matrix_of = {}) {
    std::vector<Piece> panels;
    panels.reserve(owners.size());
    for (const auto& owner : owners) {
      const linear::LinearWeights& weights = std::invoke(matrix_of, owner);
      panels.push_back({weights.sections().front().panels, weights.bytes()});
    }
    const linear::LinearWeights& first = std::invoke(matrix_of, owners.front());
    return {.panels = pieces(name, panels),
            .kind = *weight_kind(first.sections().front().kind),
            .count = static_cast<int>(owners.size()),
            .inputs = first.inputs(),
            .outputs = first.outputs()};
  }

  const void* rows(const char* name, const linear::StoredLinear& stored) {
    const auto& form = std::get<linear::StoredRows>(stored.form);
    const auto row = *quant::bytes_of(form.type, static_cast<std::size_t>(stored.inputs));
    return bytes(name, form.rows, static_cast<std::uint64_t>(stored.outputs) * row);
  }

 private:
  Allocator& allocator_;
  CommandQueue* queue_;
  std::vector<Buffer>& buffers_;
};

DeviceGroupedQuery attention_of(const model::PackedGroupedQuery& packed, Uploader& to) {
  return {.qkv = to.matrix("weights: qkv", packed.qkv, packed.qkv_bias),
          .query_norm = to.vector("weights: query norm", packed.query_norm),
          .key_norm = to.vector("weights: key norm", packed.key_norm),
          .output = to.matrix("weights: output", packed.output, packed.output_bias)};
}

DeviceLatent attention_of(const model::PackedLatent& packed, Uploader& to) {
  return {.query_down = to.matrix("weights: query down", packed.query_down),
          .query_norm = to.vector("weights: query norm", packed.query_norm),
          .query_up = to.matrix("weights: query up", packed.query_up),
          .kv_down = to.matrix("weights: kv down", packed.kv_down),
          .kv_norm = to.vector("weights: kv norm", packed.kv_norm),
          .key_up = to.matrices("weights: key up", packed.key_up),
          .value_up = to.matrices("weights: value up", packed.value_up),
          .output = to.matrix("weights: output", packed.output)};
}

DeviceMlp mlp_of(const model::PackedMlp& packed, Uploader& to) {
  return {.gate_up = to.matrix("weights: gate and up", packed.gate_up, packed.gate_up_bias),
          .down = to.matrix("weights: down", packed.down, packed.down_bias)};
}

DeviceExperts mlp_of(const model::PackedExperts& packed, Uploader& to) {
  using model::PackedMlp;
  DeviceExperts experts{
      .router = to.matrix("weights: router", packed.router),
      .correction_bias = to.vector("weights: correction bias", packed.correction_bias),
      .gate_up =
          to.matrices("weights: gate and up of experts", packed.experts, &PackedMlp::gate_up),
      .down = to.matrices("weights: down of experts", packed.experts, &PackedMlp::down)};
  if (packed.shared) experts.shared = mlp_of(*packed.shared, to);
  return experts;
}

DeviceLayer layer_of(const model::PackedModelLayer& packed, Uploader& to) {
  DeviceLayer layer;
  layer.attention_norm = to.vector("weights: attention norm", packed.attention_norm);
  std::visit([&](const auto& attention) { layer.attention = attention_of(attention, to); },
             packed.attention);
  layer.mlp_norm = to.vector("weights: norm of the MLP", packed.mlp_norm);
  std::visit([&](const auto& mlp) { layer.mlp = mlp_of(mlp, to); }, packed.mlp);
  layer.attention_post_norm = to.vector("weights: second norm", packed.attention_post_norm);
  layer.mlp_post_norm = to.vector("weights: second norm of the MLP", packed.mlp_post_norm);
  return layer;
}

}  // namespace

DeviceWeights::DeviceWeights(const GpuModel& model, Allocator& allocator, CommandQueue* queue) {
  const model::PackedModel& weights = model.weights();
  Uploader to(allocator, queue, buffers_);
  embedding_ = to.rows("weights: embedding", weights.embedding);
  embedding_kind_ = *weight_kind(linear::panel_kind(weights.embedding));
  for (const model::PackedModelLayer& layer : weights.layers) {
    layers_.push_back(layer_of(layer, to));
  }
  final_norm_ = to.vector("weights: final norm", weights.final_norm);
  head_ = to.matrix("weights: head", weights.head);
  if (queue != nullptr) queue->synchronize();
}

}  // namespace forge::gpu
