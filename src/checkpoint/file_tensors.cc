#include "forge/checkpoint/file_tensors.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include "families.h"
#include "forge/core/check.h"
#include "forge/model/weight_roles.h"

namespace forge::checkpoint {
namespace {

using linear::StoredLinear;
using model::LatentLayout;

/// Of the rows of Q and K in each head.
RowOrder order_of(const model::ModelConfig& config, ModelFormat format) {
  if (!std::holds_alternative<model::GroupedQueryConfig>(config.attention)) return RowOrder::as_is;
  const bool pairs_now = config.rope.pairing == model::RopePairing::adjacent;
  const detail::Family* const family = detail::family_of(config);
  if (family == nullptr) return RowOrder::as_is;
  const model::RopePairing then =
      format == ModelFormat::gguf ? family->gguf_pairing : family->hf_pairing;
  const bool pairs_then = then == model::RopePairing::adjacent;
  if (pairs_now == pairs_then) return RowOrder::as_is;
  return pairs_then ? RowOrder::to_pairs : RowOrder::to_halves;
}

bool is_turned(const std::string& kind) {
  constexpr const char* kTurned[] = {"layers.attention.query", "layers.attention.key",
                                     "layers.attention.query_bias", "layers.attention.key_bias"};
  return std::ranges::find(kTurned, kind) != std::end(kTurned);
}

WeightRows rows_of(const std::string& role, const StoredLinear& matrix) {
  return {.role = role, .matrix = &matrix, .vector = {}, .first = 0, .count = matrix.outputs};
}

class Tensors {
 public:
  Tensors(const model::ModelConfig& config, ModelFormat format)
      : config_(config), format_(format), order_(order_of(config, format)) {}

  /// Adds rows to the tensor of `role`: a matrix more where it is a stack.
  void add(const std::string& role, WeightRows rows) {
    const auto name = tensor_name(role, config_, format_);
    FORGE_CHECK(name, "no file has '", role, "'");
    rows.transposed |= name->transposed;
    const auto [known, is_new] = index_.emplace(name->name, tensors_.size());
    if (is_new) tensors_.push_back(tensor_of(*name, role, rows));
    FileTensor& tensor = tensors_[known->second];
    const bool is_counted = name->steps && name->steps->first > 0;
    if (!is_new && !is_counted) tensor.spec.shape.front() += shape_of(*name, rows).front();
    tensor.parts.push_back(std::move(rows));
  }

  std::vector<FileTensor> take() && { return std::move(tensors_); }

 private:
  static std::vector<std::uint64_t> shape_of(const TensorName& name, const WeightRows& rows) {
    const auto count = static_cast<std::uint64_t>(rows.rows());
    const auto elements = static_cast<std::uint64_t>(rows.row_elements()) *
                          static_cast<std::uint64_t>(name.steps ? name.steps->step : 1);
    if (rows.matrix == nullptr && !name.place) return {elements};
    if (rows.matrix == nullptr) return {1, elements};
    if (name.place) return {1, count, elements};
    if (name.flat) return {elements};
    return {count, elements};
  }

  FileTensor tensor_of(const TensorName& name, const std::string& role, const WeightRows& rows) {
    FileTensor out;
    out.spec = {
        .name = name.name, .type = formats::ElementType::f32, .shape = shape_of(name, rows)};
    out.offset = -name.offset;
    if (name.steps) out.alternating = name.steps->step;
    if (is_turned(parts_of_role(role).kind)) out.order = order_;
    if (const auto* grouped = std::get_if<model::GroupedQueryConfig>(&config_.attention)) {
      out.head_size = grouped->head_size;
    }
    return out;
  }

  const model::ModelConfig& config_;
  ModelFormat format_;
  RowOrder order_;
  std::vector<FileTensor> tensors_;
  std::map<std::string, std::size_t> index_;  // of tensors_, by name
};

/// Keys and values of latents, of the layer whose role is `layer`, in the layout that a file has.
void add_latent(const std::string& layer, const model::StoredLatent& stored,
                const model::LatentConfig& config, LatentLayout layout, Tensors& out) {
  const std::string attention = layer + ".attention.";
  const bool by_heads = !stored.key_up.empty();
  if (!by_heads && layout == LatentLayout::whole) {
    out.add(attention + "kv_up", rows_of(attention + "kv_up", stored.kv_up));
    return;
  }
  for (int head = 0; head < config.heads; ++head) {
    const std::string number = "." + std::to_string(head);
    const std::string key_role = std::string(attention).append("key_up").append(number);
    const std::string value_role = std::string(attention).append("value_up").append(number);
    WeightRows key;
    WeightRows value;
    if (by_heads) {
      const auto i = static_cast<std::size_t>(head);
      key = rows_of(key_role, stored.key_up[i]);
      value = rows_of(value_role, stored.value_up[i]);
    } else {
      const int first = head * (config.nope_size + config.value_size);
      key = value = rows_of(attention + "kv_up", stored.kv_up);
      key.first = first;
      key.count = config.nope_size;
      value.first = first + config.nope_size;
      value.count = config.value_size;
    }
    key.transposed = by_heads != (layout == LatentLayout::by_heads);
    const bool whole = layout == LatentLayout::whole;
    out.add(whole ? attention + "kv_up" : key_role, std::move(key));
    out.add(whole ? attention + "kv_up" : value_role, std::move(value));
  }
}

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

std::uint64_t FileTensor::rows() const {
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < spec.shape.size(); ++i) rows *= spec.shape[i];
  return rows;
}

SourceRow source_of(const FileTensor& tensor, std::uint64_t row) {
  auto part = tensor.parts.begin();
  for (; row >= static_cast<std::uint64_t>(part->rows()); part += tensor.alternating) {
    row -= static_cast<std::uint64_t>(part->rows());
  }
  if (!tensor.is_matrix()) return {&*part, 0};
  return {&*part, source_row(tensor.order, tensor.head_size, static_cast<int>(row))};
}

LatentLayout layout_of(const model::StoredModel& model) {
  const bool by_heads = std::ranges::any_of(model.layers, [](const model::StoredLayer& layer) {
    const auto* const latent = std::get_if<model::StoredLatent>(&layer.attention);
    return latent != nullptr && !latent->key_up.empty();
  });
  return by_heads ? LatentLayout::by_heads : LatentLayout::whole;
}

std::vector<FileTensor> file_tensors(const model::ModelConfig& config,
                                     const model::StoredModel& model, ModelFormat format,
                                     LatentLayout layout) {
  if (format == ModelFormat::safetensors) layout = LatentLayout::whole;
  Tensors out(config, format);
  const auto add_matrix = [&](const std::string& role, const StoredLinear& matrix) {
    const bool is_first_of_latent =
        role.ends_with(".attention.kv_up") || role.ends_with(".attention.key_up.0");
    if (is_first_of_latent) {
      const auto layer = static_cast<std::size_t>(parts_of_role(role).numbers.front());
      add_latent("layers." + std::to_string(layer),
                 std::get<model::StoredLatent>(model.layers[layer].attention),
                 std::get<model::LatentConfig>(config.attention), layout, out);
    } else if (role.find(".key_up.") == role.npos && role.find(".value_up.") == role.npos) {
      out.add(role, rows_of(role, matrix));
    }
  };
  const auto add_vector = [&](const std::string& role, const std::vector<float>& vector) {
    out.add(role, {.role = role, .matrix = nullptr, .vector = vector});
  };
  for_each_weight(model, add_matrix, add_vector);
  return std::move(out).take();
}

FileTensor rope_tensor(const RopeTable& table) {
  FileTensor tensor;
  tensor.spec = {
      .name = table.name, .type = formats::ElementType::f32, .shape = {table.divisors.size()}};
  tensor.parts.push_back({.role = table.name, .matrix = nullptr, .vector = table.divisors});
  return tensor;
}

}  // namespace forge::checkpoint
