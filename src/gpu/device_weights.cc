#include "device_weights.h"

#include <algorithm>
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
    return {.sections = sections(name, std::span(&weights, 1), std::identity()),
            .bias = vector(name, bias),
            .inputs = weights.inputs(),
            .outputs = weights.outputs()};
  }

  /// All have the same sections: GpuModel accepts no others. A row has `vectors` inputs for them.
  template <class Owners, class Projection = std::identity>
  DeviceMatrices matrices(const char* name, const Owners& owners, int vectors,
                          Projection matrix_of = {}) {
    const linear::LinearWeights& first = std::invoke(matrix_of, owners.front());
    return {.sections = sections(name, owners, matrix_of, vectors),
            .count = static_cast<int>(owners.size()),
            .inputs = first.inputs(),
            .outputs = first.outputs()};
  }

  /// Matrices of experts, and a vector of each; null if they have none.
  DeviceMatrices of_experts(const char* name, const std::vector<model::PackedMlp>& experts,
                            int vectors, linear::LinearWeights model::PackedMlp::*matrix,
                            std::vector<float> model::PackedMlp::*bias) {
    DeviceMatrices of_all = matrices(name, experts, vectors, matrix);
    std::vector<Piece> biases;
    for (const model::PackedMlp& expert : experts) {
      const std::vector<float>& vector = expert.*bias;
      if (!vector.empty()) biases.push_back({vector.data(), sizeof(float) * vector.size()});
    }
    if (!biases.empty()) of_all.bias = static_cast<const float*>(pieces(name, biases));
    return of_all;
  }

  /// Panels of codes. They are packed here, since the model has those of the head alone.
  const void* panels(const char* name, const linear::StoredLinear& stored) {
    if (queue_ == nullptr) return bytes(name, nullptr, packed_bytes(std::span(&stored, 1)));
    linear::ThreadPool pool(1);
    packed_.emplace(std::span(&stored, 1), pool);
    return bytes(name, packed_->sections().front().panels, packed_->bytes());
  }

  /// Rows of floats: as they are stored, or, of FP8 and others that are packed as floats, widened.
  const void* rows(const char* name, const linear::StoredLinear& stored) {
    const auto count = static_cast<std::size_t>(stored.outputs);
    const auto width = static_cast<std::size_t>(stored.inputs);
    if (const auto* form = std::get_if<linear::StoredRows>(&stored.form)) {
      return bytes(name, form->rows, count * *quant::bytes_of(form->type, width));
    }
    if (queue_ != nullptr) widened_.resize(count * width);
    for (std::size_t row = 0; row < widened_.size() / width; ++row) {
      stored_row(stored, static_cast<int>(row), &widened_[row * width]);
    }
    return bytes(name, widened_.data(), count * width * sizeof(float));
  }

  /// Groups of the widest row that products with codes read.
  int coded_groups() const { return coded_groups_; }

 private:
  template <class Owners, class Projection>
  std::vector<DeviceSection> sections(const char* name, const Owners& owners, Projection matrix_of,
                                      int vectors = 1) {
    std::vector<DeviceSection> out;
    const linear::LinearWeights& first = std::invoke(matrix_of, owners.front());
    for (std::size_t i = 0; i < first.sections().size(); ++i) {
      const linear::Section& section = first.sections()[i];
      const auto panels = static_cast<std::uint64_t>(section.panel_count());
      std::vector<Piece> all;
      all.reserve(owners.size());
      for (const auto& owner : owners) {
        all.push_back(
            {std::invoke(matrix_of, owner).sections()[i].panels, panels * section.panel_bytes});
      }
      out.push_back({.panels = pieces(name, all),
                     .kind = section.kind,
                     .first_output = section.first_output,
                     .outputs = section.outputs,
                     .order = order(section.order)});
      if (!linear::has_codes(section.kind)) continue;
      coded_groups_ = std::max(coded_groups_, vectors * linear::codes::group_count(first.inputs()));
    }
    return out;
  }

  const std::int32_t* order(std::span<const std::int32_t> order) {
    if (order.empty()) return nullptr;
    return static_cast<const std::int32_t*>(
        bytes("weights: order of inputs", order.data(), order.size_bytes()));
  }

  Allocator& allocator_;
  CommandQueue* queue_;
  std::vector<Buffer>& buffers_;
  int coded_groups_ = 0;
  // What is uploaded of it must stay until it has arrived.
  std::optional<linear::LinearWeights> packed_;
  std::vector<float> widened_;
};

DeviceGroupedQuery attention_of(const model::PackedGroupedQuery& packed, Uploader& to) {
  return {.qkv = to.matrix("weights: qkv", packed.qkv, packed.qkv_bias),
          .query_norm = to.vector("weights: query norm", packed.query_norm),
          .key_norm = to.vector("weights: key norm", packed.key_norm),
          .sinks = to.vector("weights: sinks", packed.sinks),
          .output = to.matrix("weights: output", packed.output, packed.output_bias)};
}

DeviceLatent attention_of(const model::PackedLatent& packed, Uploader& to) {
  const auto heads = static_cast<int>(packed.key_up.size());
  return {.query_down = to.matrix("weights: query down", packed.query_down),
          .query_norm = to.vector("weights: query norm", packed.query_norm),
          .query_up = to.matrix("weights: query up", packed.query_up),
          .kv_down = to.matrix("weights: kv down", packed.kv_down),
          .kv_norm = to.vector("weights: kv norm", packed.kv_norm),
          .key_up = to.matrices("weights: key up", packed.key_up, heads),
          .value_up = to.matrices("weights: value up", packed.value_up, heads),
          .output = to.matrix("weights: output", packed.output)};
}

GluFunction::Kind kind_of(model::Activation activation) {
  switch (activation) {
    case model::Activation::silu:
      break;
    case model::Activation::gelu_tanh:
      return GluFunction::Kind::gelu_tanh;
    case model::Activation::clamped_swiglu:
      return GluFunction::Kind::clamped_swiglu;
  }
  return GluFunction::Kind::silu;
}

GluFunction glu_of(const model::PackedMlp& mlp) { return {kind_of(mlp.activation), mlp.clamp}; }

DeviceMlp mlp_of(const model::PackedMlp& packed, Uploader& to) {
  return {.gate_up = to.matrix("weights: gate and up", packed.gate_up, packed.gate_up_bias),
          .down = to.matrix("weights: down", packed.down, packed.down_bias),
          .glu = glu_of(packed)};
}

DeviceExperts mlp_of(const model::PackedExperts& packed, Uploader& to) {
  using model::PackedMlp;
  const int per_row = packed.config.experts_per_token;
  DeviceExperts experts{
      .router = to.matrix("weights: router", packed.router, packed.router_bias),
      .correction_bias = to.vector("weights: correction bias", packed.correction_bias),
      .gate_up = to.of_experts("weights: gate and up of experts", packed.experts, 1,
                               &PackedMlp::gate_up, &PackedMlp::gate_up_bias),
      .down = to.of_experts("weights: down of experts", packed.experts, per_row, &PackedMlp::down,
                            &PackedMlp::down_bias),
      .glu = glu_of(packed.experts.front()),
      .shared_gate = to.matrix("weights: gate of shared experts", packed.shared_gate)};
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

DeviceWeights::DeviceWeights(const GpuModel& model, std::uint32_t rows_max, Allocator& allocator,
                             CommandQueue* queue) {
  const model::PackedModel& weights = model.weights();
  Uploader to(allocator, queue, buffers_);
  embedding_kind_ = panel_kind(weights.embedding);
  const bool is_codes = linear::has_codes(embedding_kind_);
  if (!is_codes) embedding_ = to.rows("weights: embedding", weights.embedding);
  for (const model::PackedModelLayer& layer : weights.layers) {
    layers_.push_back(layer_of(layer, to));
  }
  final_norm_ = to.vector("weights: final norm", weights.final_norm);
  head_ = to.matrix("weights: head", weights.head);
  if (is_codes) {
    embedding_ = model.config().tied_head ? head_.sections.front().panels
                                          : to.panels("weights: embedding", weights.embedding);
  }
  coded_rows_ = allocator.take<RowGroup>(
      MemoryKind::device, std::size_t{rows_max} * static_cast<std::size_t>(to.coded_groups()),
      "rows in 8 bits");
  if (queue != nullptr) queue->synchronize();
}

}  // namespace forge::gpu
