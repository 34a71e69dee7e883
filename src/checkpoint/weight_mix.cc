#include "forge/checkpoint/weight_mix.h"

#include <algorithm>
#include <cctype>

#include "forge/numerics/half.h"

namespace forge::checkpoint {
namespace {

using quant::WeightType;

/// The first and last eighth, and every third between.
bool gets_more_bits(int layer, int layers) {
  const int eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

/// V of a layer in one of the four mixes.
WeightType value_type(const WeightMix& mix, const model::ModelConfig& config, int layer) {
  if (mix.type == WeightType::q3_k) return layer < 2 ? WeightType::q5_k : WeightType::q4_k;
  if (mix.type == WeightType::iq4_xs) {
    const auto* const heads = std::get_if<model::GroupedQueryConfig>(&config.attention);
    const bool shared_by_4 = heads != nullptr && heads->heads >= 4 * heads->kv_heads;
    return shared_by_4 ? WeightType::q5_k : mix.type;
  }
  return gets_more_bits(layer, config.layers) ? WeightType::q6_k : mix.type;
}

/// The down projections of a layer.
WeightType down_type(const WeightMix& mix, int layers, int layer) {
  if (mix.type == WeightType::q3_k) {
    return layer < layers / 16 ? WeightType::q5_k : WeightType::q4_k;
  }
  if (mix.type == WeightType::iq4_xs) return layer < layers / 8 ? WeightType::q5_k : mix.type;
  return gets_more_bits(layer, layers) ? WeightType::q6_k : mix.type;
}

WeightType wanted_type(const WeightMix& mix, const model::ModelConfig& config,
                       const std::string& role) {
  const auto [kind, numbers] = parts_of_role(role);
  if (kind == "layers.feed_forward.router" || kind == "layers.feed_forward.shared_gate") {
    return WeightType::f32;
  }
  if (!mix.more_bits) return mix.type;
  constexpr int kExpertsOfMixtral = 8;
  const bool mixtral = config.experts && config.experts->experts == kExpertsOfMixtral;
  if (kind == (config.tied_head ? "embedding" : "head")) return WeightType::q6_k;
  const bool is_value = kind == "layers.attention.value";
  if (mixtral && (is_value || kind == "layers.attention.key")) return WeightType::q8_0;
  if (kind == "layers.attention.output") {
    if (mixtral) return WeightType::q5_k;
    return mix.type == WeightType::q3_k ? WeightType::q4_k : mix.type;
  }
  if (is_value) return value_type(mix, config, numbers.front());
  return kind.ends_with(".down") ? down_type(mix, config.layers, numbers.front()) : mix.type;
}

bool is_plain(WeightType type) {
  return quant::block_elements(type) == 1 && type != WeightType::i8;
}

/// Every number is one of bfloat16 or of f16 already.
bool fits(std::span<const float> values, float offset, WeightType type) {
  return std::all_of(values.begin(), values.end(), [&](float value) {
    const float x = value + offset;
    const float stored = type == WeightType::f16 ? numerics::to_float(numerics::to_f16(x))
                                                 : numerics::to_float(numerics::to_bf16(x));
    return type == WeightType::f32 || stored == x;
  });
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string WeightMix::name() const {
  const bool has_suffix = more_bits && type != WeightType::iq4_xs;
  return std::string(quant::name_of(type)) + (has_suffix ? "_M" : "");
}

tl::expected<WeightMix, std::string> parse_weight_mix(const std::string& text,
                                                      const std::vector<std::string>& accepted) {
  const std::string name = upper(text);
  if (std::find(accepted.begin(), accepted.end(), name) == accepted.end()) {
    std::string names;
    for (const std::string& known : accepted) names += (names.empty() ? "" : ", ") + known;
    return tl::unexpected("--type: '" + text + "' is none of " + names);
  }
  const bool suffix = name.ends_with("_M");
  const WeightType type = *quant::weight_type(suffix ? name.substr(0, name.size() - 2) : name);
  return WeightMix{.type = type, .more_bits = suffix || type == WeightType::iq4_xs};
}

const std::vector<std::string>& block_mixes() {
  static const std::vector<std::string> kNames = {
      "Q8_0", "Q6_K", "Q5_K_M", "Q5_K", "Q5_1", "Q5_0",   "Q4_K_M", "Q4_K",
      "Q4_1", "Q4_0", "Q3_K_M", "Q3_K", "Q2_K", "IQ4_NL", "IQ4_XS", "MXFP4"};
  return kNames;
}

/// The type of about as many bits that has blocks of 32 numbers where `type` has 256: what ggml's
/// tools choose, too.
WeightType of_shorter_blocks(WeightType type) {
  if (type == WeightType::q4_k) return WeightType::q5_0;
  if (type == WeightType::q5_k) return WeightType::q5_1;
  if (type == WeightType::q2_k || type == WeightType::q3_k || type == WeightType::iq4_xs) {
    return WeightType::iq4_nl;
  }
  return WeightType::q8_0;
}

std::vector<Fallback> choose_types(const WeightMix& mix, const model::ModelConfig& config,
                                   std::vector<FileTensor>& tensors) {
  std::vector<Fallback> fallbacks;
  for (FileTensor& tensor : tensors) {
    if (!tensor.is_matrix()) continue;
    const WeightType wanted = wanted_type(mix, config, tensor.role());
    WeightType given = wanted;
    for (const WeightType smaller : {of_shorter_blocks(wanted), WeightType::f16}) {
      if (tensor.row_elements() % quant::block_elements(given) != 0) given = smaller;
    }
    if (given != wanted) {
      fallbacks.push_back({tensor.spec.name, wanted, given, tensor.row_elements()});
    }
    tensor.spec.type = formats::element_type(given);
  }
  return fallbacks;
}

quant::WeightType stored_type(const linear::StoredLinear& matrix) {
  const auto* const rows = std::get_if<linear::StoredRows>(&matrix.form);
  return rows == nullptr ? WeightType::f16 : rows->type;
}

void keep_types(ModelFormat format, std::vector<FileTensor>& tensors) {
  const auto kept = [&](const linear::StoredLinear& matrix) {
    const WeightType type = stored_type(matrix);
    return format == ModelFormat::gguf || is_plain(type) ? type : WeightType::f16;
  };
  const WeightType embedding = kept(*tensors.front().parts.front().matrix);
  for (FileTensor& tensor : tensors) {
    const WeightRows& part = tensor.parts.front();
    WeightType type = WeightType::f32;
    if (part.matrix != nullptr) {
      type = kept(*part.matrix);
      for (const WeightRows& other : tensor.parts) {
        // Parts of one tensor may be of several types, which F32 holds all.
        if (kept(*other.matrix) != type) type = WeightType::f32;
      }
      if (tensor.row_elements() % quant::block_elements(type) != 0) type = WeightType::f16;
    } else if (format == ModelFormat::safetensors &&
               std::ranges::all_of(tensor.parts, [&](const WeightRows& one) {
                 return fits(one.vector, tensor.offset, embedding);
               })) {
      type = embedding;
    }
    tensor.spec.type = formats::element_type(type);
  }
}

std::uint32_t gguf_file_type(const WeightMix& mix) {
  switch (mix.type) {
    case WeightType::f32:
    case WeightType::i8:
      return 0;
    case WeightType::f16:
      return 1;
    case WeightType::q4_0:
      return 2;
    case WeightType::q8_0:
      return 7;
    case WeightType::q5_0:
      return 8;
    case WeightType::q5_1:
      return 9;
    case WeightType::q4_k:
      return mix.more_bits ? 15 : 14;
    case WeightType::q5_k:
      return mix.more_bits ? 17 : 16;
    case WeightType::q6_k:
      return 18;
    case WeightType::q4_1:
      return 3;
    case WeightType::q2_k:
      return 10;
    case WeightType::q3_k:
      return mix.more_bits ? 12 : 11;
    case WeightType::iq4_nl:
      return 25;
    case WeightType::iq4_xs:
      return 30;
    case WeightType::mxfp4:
      return 38;
    case WeightType::bf16:
      return 32;
  }
  return 0;
}

}  // namespace forge::checkpoint
