#include "device_weights.h"

#include <algorithm>
#include <functional>
#include <list>
#include <span>
#include <utility>

#include "embedding_upload.h"
#include "forge/gpu/kernels.h"
#include "weight_upload.h"

namespace forge::gpu {
namespace {

/// The most that is brought to the device at a time; a panel, if that is more.
std::size_t room_bytes(const model::PackedModel& layout) {
  constexpr std::size_t kEnough = std::size_t{16} << 20;
  std::size_t panel = linear::panel_bytes(linear::PanelKind::f32, layout.embedding.inputs);
  for_each_matrix(layout, [&](const linear::LinearWeights& matrix) {
    for (const linear::Section& section : matrix.sections()) {
      panel = std::max(panel, section.panel_bytes);
    }
  });
  return std::max(panel, std::min(kEnough, layout.bytes()));
}

/// Finds matrices that have their places, and uploads vectors; without a queue, it only lets the
/// allocator count these.
class Uploader {
 public:
  Uploader(Allocator& allocator, CommandQueue* queue, std::vector<Buffer>& buffers)
      : allocator_(allocator), queue_(queue), buffers_(buffers) {}

  /// Null if there are none.
  const float* vector(const char* name, const std::vector<float>& vector) {
    return numbers(name, std::span(vector));
  }

  DeviceMatrix matrix(const char* name, const linear::LinearWeights& weights,
                      const std::vector<float>& bias = {}) {
    return {.sections = sections(weights, 1),
            .bias = vector(name, bias),
            .inputs = weights.inputs(),
            .outputs = weights.outputs()};
  }

  /// All have the same sections: GpuModel accepts no others. A row has `vectors` inputs for them.
  template <class Owners, class Projection = std::identity>
  DeviceMatrices matrices(const Owners& owners, int vectors, Projection matrix_of = {}) {
    const linear::LinearWeights& first = std::invoke(matrix_of, owners[0]);
    const auto panels_of = [&](std::size_t i) {
      return std::invoke(matrix_of, owners[i]).sections()[0].panels;
    };
    return {.sections = sections(first, vectors),
            .count = static_cast<int>(owners.size()),
            .inputs = first.inputs(),
            .outputs = first.outputs(),
            .matrix_bytes =
                owners.size() == 1 ? 0 : static_cast<std::uint64_t>(panels_of(1) - panels_of(0))};
  }

  /// Matrices of experts, and a vector of each; null if they have none.
  DeviceMatrices of_experts(const char* name, const std::vector<model::PackedMlp>& experts,
                            int vectors, linear::LinearWeights model::PackedMlp::*matrix,
                            std::vector<float> model::PackedMlp::*bias) {
    DeviceMatrices of_all = matrices(experts, vectors, matrix);
    std::vector<float>& biases = joined_.emplace_back();
    for (const model::PackedMlp& expert : experts) {
      biases.insert(biases.end(), (expert.*bias).begin(), (expert.*bias).end());
    }
    of_all.bias = vector(name, biases);
    return of_all;
  }

  /// Groups of the widest row that products with codes read.
  int coded_groups() const { return coded_groups_; }

 private:
  /// Null if there are none.
  template <class T>
  const T* numbers(const char* name, std::span<const T> numbers) {
    if (numbers.empty()) return nullptr;
    Buffer buffer = allocator_.take<T>(MemoryKind::device, numbers.size(), name);
    if (buffer.bytes() == 0) return nullptr;
    queue_->copy(buffer.as<T>(), numbers.data(), numbers.size_bytes(), CopyDirection::to_device);
    buffers_.push_back(std::move(buffer));
    return buffers_.back().as<T>();
  }

  std::vector<DeviceSection> sections(const linear::LinearWeights& weights, int vectors) {
    std::vector<DeviceSection> out;
    for (const linear::Section& section : weights.sections()) {
      out.push_back({.panels = section.panels,
                     .kind = section.kind,
                     .first_output = section.first_output,
                     .outputs = section.outputs,
                     .order = numbers("weights: order of inputs", section.order)});
      if (!linear::has_codes(section.kind)) continue;
      coded_groups_ =
          std::max(coded_groups_, vectors * linear::codes::group_count(weights.inputs()));
    }
    return out;
  }

  Allocator& allocator_;
  CommandQueue* queue_;
  std::vector<Buffer>& buffers_;
  int coded_groups_ = 0;
  std::list<std::vector<float>> joined_;  // which must stay until they have arrived
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
          .key_up = to.matrices(packed.key_up, heads),
          .value_up = to.matrices(packed.value_up, heads),
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
  // Copies read them until the upload has come to rest, also when a call has failed.
  std::optional<model::PackedModel> packed;
  Uploader to(allocator, queue, buffers_);
  WeightUpload upload(room_bytes(model.layout()), allocator, queue, buffers_);
  if (queue != nullptr) {
    packed = load(model, upload);
    if (!packed) return;
  } else {
    upload.reserve(model.layout().bytes());
    upload.reserve(embedding_bytes(model));
  }
  const model::PackedModel& weights = packed ? *packed : model.layout();
  for (const model::PackedModelLayer& layer : weights.layers) {
    layers_.push_back(layer_of(layer, to));
  }
  final_norm_ = to.vector("weights: final norm", weights.final_norm);
  head_ = to.matrix("weights: head", weights.head);
  embedding_kind_ = panel_kind(weights.embedding);
  if (embedding_bytes(model) == 0) embedding_ = head_.sections.front().panels;
  coded_rows_ = allocator.take<RowGroup>(
      MemoryKind::device, std::size_t{rows_max} * static_cast<std::size_t>(to.coded_groups()),
      "rows in 8 bits");
  if (queue != nullptr) queue->synchronize();
}

/// The model, its matrices on the device. Nothing where they could not be read or brought there.
std::optional<model::PackedModel> DeviceWeights::load(const GpuModel& model, WeightUpload& upload) {
  auto packed = model.load(upload);
  if (!packed) {
    fault_ = packed.error();
    return std::nullopt;
  }
  if (embedding_bytes(model) > 0) {
    const auto embedding = upload_embedding(model, upload);
    if (!embedding) {
      fault_ = embedding.error();
      return std::nullopt;
    }
    embedding_ = *embedding;
  }
  if (upload.has_failed()) return std::nullopt;
  digest_ = packed->digest;
  return *std::move(packed);
}

}  // namespace forge::gpu
