#include "output_tensors.h"

#include <utility>
#include <variant>

#include "forge/checkpoint/tensor_names.h"

namespace forge::apps {
namespace {

/// Families whose GGUF files have pairs adjacent.
bool has_pairs_in_gguf(const model::ModelConfig& config) {
  return config.family == "llama" || config.family == "mistral";
}

RowOrder order_of(const model::ModelConfig& config, const std::string& name, ModelFormat format) {
  const bool turns =
      name.find(".q_proj.") != std::string::npos || name.find(".k_proj.") != std::string::npos;
  if (!turns || !has_pairs_in_gguf(config)) return RowOrder::as_is;
  const bool pairs_now = config.rope.pairing == model::RopePairing::adjacent;
  const bool pairs_then = format == ModelFormat::gguf;
  if (pairs_now == pairs_then) return RowOrder::as_is;
  return pairs_then ? RowOrder::to_pairs : RowOrder::to_halves;
}

std::vector<std::uint64_t> shape_of(const ModelPart& part) {
  if (part.matrix == nullptr) return {part.vector.size()};
  return {static_cast<std::uint64_t>(part.rows()), static_cast<std::uint64_t>(part.row_elements())};
}

OutputTensor tensor_of(const model::ModelConfig& config, ModelPart part, ModelFormat format) {
  OutputTensor out;
  out.spec = {.name = part.name, .type = formats::ElementType::f32, .shape = shape_of(part)};
  out.order = order_of(config, part.name, format);
  if (const auto* grouped = std::get_if<model::GroupedQueryConfig>(&config.attention)) {
    out.head_size = grouped->head_size;
  }
  out.parts.push_back(std::move(part));
  return out;
}

/// Heads of one matrix come one after the other.
void add_to_last(std::vector<OutputTensor>& tensors, OutputTensor tensor) {
  if (tensors.empty() || tensors.back().spec.name != tensor.spec.name) {
    tensors.push_back(std::move(tensor));
    return;
  }
  tensors.back().spec.shape.front() += tensor.spec.shape.front();
  tensors.back().parts.push_back(std::move(tensor.parts.front()));
}

/// Experts of a layer come one after the other: gate, up and down of the first, of the second ...
class Stacks {
 public:
  void add(OutputTensor tensor, const checkpoint::GgufName& name) {
    tensor.spec.name = name.name;
    if (!name.expert) {
      tensors_.push_back(std::move(tensor));
    } else if (*name.expert == 0) {
      tensor.spec.shape.insert(tensor.spec.shape.begin(), 1);
      tensors_.push_back(std::move(tensor));
    } else {
      for (std::size_t i = tensors_.size(); i > 0; --i) {
        OutputTensor& stack = tensors_[i - 1];
        if (stack.spec.name != name.name) continue;
        ++stack.spec.shape.front();
        stack.parts.push_back(std::move(tensor.parts.front()));
        return;
      }
    }
  }
  std::vector<OutputTensor> take() && { return std::move(tensors_); }

 private:
  std::vector<OutputTensor> tensors_;
};

}  // namespace

int source_row(RowOrder order, int size, int row) {
  const int within = row % size;
  const int head = row - within;
  switch (order) {
    case RowOrder::as_is:
      return row;
    case RowOrder::to_pairs:
      return head + within / 2 + within % 2 * (size / 2);
    case RowOrder::to_halves:
      return head + within % (size / 2) * 2 + within / (size / 2);
  }
  return row;
}

std::uint64_t OutputTensor::rows() const {
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < spec.shape.size(); ++i) rows *= spec.shape[i];
  return rows;
}

SourceRow source_of(const OutputTensor& tensor, std::uint64_t row) {
  if (!tensor.is_matrix()) return {&tensor.parts.front(), 0};
  auto part = tensor.parts.begin();
  for (; row >= static_cast<std::uint64_t>(part->rows()); ++part) {
    row -= static_cast<std::uint64_t>(part->rows());
  }
  return {&*part, source_row(tensor.order, tensor.head_size, static_cast<int>(row))};
}

tl::expected<std::vector<OutputTensor>, std::string> output_tensors(
    const model::ModelConfig& config, const model::StoredModel& model, ModelFormat format) {
  std::vector<OutputTensor> tensors;
  Stacks stacks;
  for (ModelPart& part : parts_of(config, model)) {
    if (format == ModelFormat::safetensors) {
      add_to_last(tensors, tensor_of(config, std::move(part), format));
      continue;
    }
    const auto name = checkpoint::gguf_name(part.name);
    if (!name) return tl::unexpected("tensor '" + part.name + "' has no name in GGUF");
    stacks.add(tensor_of(config, std::move(part), format), *name);
  }
  if (format == ModelFormat::gguf) return std::move(stacks).take();
  return tensors;
}

OutputTensor rope_tensor(std::span<const float> divisors) {
  const std::string name = "rope_freqs.weight";
  OutputTensor tensor;
  tensor.spec = {.name = name, .type = formats::ElementType::f32, .shape = {divisors.size()}};
  tensor.parts.push_back({.name = name, .matrix = nullptr, .vector = divisors});
  return tensor;
}

}  // namespace forge::apps
