#include "lora_adapter.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/core/range.h"
#include "forge/formats/json_tree.h"
#include "forge/quant/dequantize.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {
namespace {

using formats::FileError;
using formats::Tensor;

constexpr std::uint64_t kConfigBytesMax = std::uint64_t{4} << 20;
constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kDown = ".lora_A.weight";
constexpr std::string_view kUp = ".lora_B.weight";
constexpr std::string_view kWeight = ".weight";

tl::expected<LoraConfig, FileError> read_config(const std::filesystem::path& folder) {
  const std::string path = (folder / "adapter_config.json").string();
  const auto file = formats::open_json(path, kConfigBytesMax);
  if (!file) return tl::unexpected(file.error());
  return parse_lora_config(text_of(*file), path);
}

/// "model.layers.0.mlp.up_proj" of its weight.
std::string module_of(const FileTensor& layer) {
  const std::string& name = layer.spec.name;
  return name.substr(0, name.size() - kWeight.size());
}

/// Whether it is the matrix of a linear layer: not one whose rows are looked up, nor the stacked
/// experts of gpt-oss, which are parameters without a layer.
bool is_linear(const FileTensor& layer) {
  return layer.is_matrix() && layer.role() != "embedding" && layer.spec.name.ends_with(kWeight);
}

std::string tensor_of(const std::string& module, std::string_view end) {
  return std::string(kPrefix) + module + std::string(end);
}

}  // namespace

tl::expected<LoraAdapter, FileError> LoraAdapter::open(const LoraSource& source,
                                                       std::span<const FileTensor> base) {
  const std::filesystem::path folder(source.path);
  auto config = read_config(folder);
  if (!config) return tl::unexpected(std::move(config.error()));
  auto file = formats::SafeTensors::open((folder / "adapter_model.safetensors").string());
  if (!file) return tl::unexpected(std::move(file.error()));
  LoraAdapter adapter(*std::move(file), *std::move(config));
  if (auto done = adapter.read(source, base); !done) return tl::unexpected(std::move(done.error()));
  return adapter;
}

FileError LoraAdapter::wrong(const std::string& tensor, std::string message) const {
  return {.file = file_.files().front().path(),
          .message = std::move(message),
          .tensor = tensor,
          .offset = std::nullopt};
}

LoraAdapter::Done LoraAdapter::read(const LoraSource& source, std::span<const FileTensor> base) {
  if (auto done = find_tensors(); !done) return done;
  std::map<std::string, const FileTensor*> layers;
  for (const FileTensor& layer : base) {
    if (is_linear(layer)) layers.emplace(module_of(layer), &layer);
  }
  for (const auto& [module, found] : modules_) {
    const auto layer = layers.find(module);
    const FileTensor* const known = layer == layers.end() ? nullptr : layer->second;
    if (auto done = add(module, found, known, source.scale); !done) return done;
  }
  return check_all_there(base);
}

LoraAdapter::Done LoraAdapter::find_tensors() {
  for (const Tensor& tensor : file_.tensors()) {
    const std::string_view name = tensor.name;
    const bool is_down = name.ends_with(kDown);
    if (!name.starts_with(kPrefix) || !(is_down || name.ends_with(kUp)) ||
        name.size() <= kPrefix.size() + kDown.size()) {
      return tl::unexpected(
          wrong(tensor.name, "is none of a pair; accepted are names " + std::string(kPrefix) +
                                 "MODULE" + std::string(kDown) + " and " + std::string(kUp)));
    }
    const std::size_t length = name.size() - kPrefix.size() - kDown.size();
    Found& found = modules_[std::string(name.substr(kPrefix.size(), length))];
    (is_down ? found.down : found.up) = &tensor;
  }
  if (modules_.empty())
    return tl::unexpected(wrong("", "has no tensors; needed is a pair or more"));
  return {};
}

LoraAdapter::Done LoraAdapter::add(const std::string& module, const Found& found,
                                   const FileTensor* layer, double scale) {
  const auto& [down, up] = found;
  if (down == nullptr || up == nullptr) {
    const std::string_view missing = down == nullptr ? kDown : kUp;
    const Tensor& there = down == nullptr ? *up : *down;
    return tl::unexpected(
        wrong(tensor_of(module, missing), "is missing, while there is " + in_quotes(there.name)));
  }
  if (layer == nullptr) {
    return tl::unexpected(wrong(
        down->name, "is for " + in_quotes(module) + ", which is no linear layer of this base"));
  }
  for (const WeightRows& part : layer->parts) {
    if (!part.transposed) continue;
    return tl::unexpected(wrong(down->name, "is for " + in_quotes(module) +
                                                ", which this base has head by head; accepted is "
                                                "a base that has it in one matrix"));
  }
  const auto rank = rank_of(module, found);
  if (!rank) return tl::unexpected(rank.error());
  const auto alpha = config_.alpha.of(module);
  if (!alpha) return tl::unexpected(wrong(down->name, "alpha_pattern: " + alpha.error()));
  if (auto fits = check(*down, {*rank, layer->row_elements()}); !fits) return fits;
  if (auto fits = check(*up, {layer->rows(), *rank}); !fits) return fits;
  pairs_.push_back({.layer = layer,
                    .down = down,
                    .up = up,
                    .factor = scale * config_.factor(static_cast<double>(*rank), *alpha)});
  return {};
}

tl::expected<std::size_t, FileError> LoraAdapter::rank_of(const std::string& module,
                                                          const Found& found) const {
  const auto rank = config_.rank.of(module);
  if (!rank) return tl::unexpected(wrong(found.down->name, "rank_pattern: " + rank.error()));
  return static_cast<std::size_t>(*rank);
}

LoraAdapter::Done LoraAdapter::check(const Tensor& tensor, std::vector<std::uint64_t> shape) const {
  using formats::ElementType;
  const bool is_plain = tensor.type == ElementType::f32 || tensor.type == ElementType::f16 ||
                        tensor.type == ElementType::bf16;
  if (is_plain && tensor.shape == shape) return {};
  const std::string needed = formats::to_string(ElementType::f32, shape);
  return tl::unexpected(wrong(tensor.name, "is " + formats::to_string(tensor) + "; needed is " +
                                               needed +
                                               ", or F16 or BF16, by the rank of "
                                               "adapter_config.json and this base"));
}

LoraAdapter::Done LoraAdapter::check_all_there(std::span<const FileTensor> base) const {
  for (const FileTensor& layer : base) {
    if (!is_linear(layer)) continue;
    const std::string module = module_of(layer);
    const bool is_expert = module.find(".experts.") != module.npos;
    if (is_expert || modules_.contains(module)) continue;
    for (const std::string& target : config_.targets) {
      if (!ends_in(module, target)) continue;
      return tl::unexpected(
          wrong(tensor_of(module, kDown), "is missing; target_modules has " + in_quotes(target) +
                                              ", which this base has in that layer, too"));
    }
  }
  return {};
}

tl::expected<std::vector<float>, FileError> LoraAdapter::floats(const Tensor& tensor) const {
  std::vector<float> out(tensor.elements());
  quant::dequantize(*formats::weight_type(tensor.type), tensor.bytes.data(), out.size(),
                    out.data());
  const auto bad = std::ranges::find_if(out, [](float value) { return !std::isfinite(value); });
  if (bad == out.end()) return out;
  const auto place = static_cast<std::uint64_t>(bad - out.begin());
  const std::uint64_t width = tensor.shape.back();
  return tl::unexpected(wrong(tensor.name, not_finite(*bad, std::to_string(place / width) + ", " +
                                                                std::to_string(place % width))));
}

}  // namespace forge::checkpoint::detail
