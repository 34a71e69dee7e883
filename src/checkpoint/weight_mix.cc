#include "forge/checkpoint/weight_mix.h"

#include <algorithm>
#include <cctype>

#include "forge/quant/half.h"

namespace forge::checkpoint {
namespace {

using quant::WeightType;

/// The first and last eighth, and every third between.
bool gets_more_bits(int layer, int layers) {
  const int eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
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
  if (mixtral && kind == "layers.attention.output") return WeightType::q5_k;
  const bool may_get_more = is_value || kind.ends_with(".down");
  if (may_get_more && gets_more_bits(numbers.front(), config.layers)) return WeightType::q6_k;
  return mix.type;
}

bool is_plain(WeightType type) {
  return quant::block_elements(type) == 1 && type != WeightType::i8;
}

/// Every number is one of bfloat16 or of f16 already.
bool fits(std::span<const float> values, float offset, WeightType type) {
  return std::all_of(values.begin(), values.end(), [&](float value) {
    const float x = value + offset;
    const float stored = type == WeightType::f16 ? quant::to_float(quant::to_f16(x))
                                                 : quant::to_float(quant::to_bf16(x));
    return type == WeightType::f32 || stored == x;
  });
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string WeightMix::name() const {
  return std::string(quant::name_of(type)) + (more_bits ? "_M" : "");
}

tl::expected<WeightMix, std::string> parse_weight_mix(const std::string& text,
                                                      const std::vector<std::string>& accepted) {
  const std::string name = upper(text);
  if (std::find(accepted.begin(), accepted.end(), name) == accepted.end()) {
    std::string names;
    for (const std::string& known : accepted) names += (names.empty() ? "" : ", ") + known;
    return tl::unexpected("--type: '" + text + "' is none of " + names);
  }
  if (name == "Q4_K_M") return WeightMix{.type = WeightType::q4_k, .more_bits = true};
  return WeightMix{.type = *quant::weight_type(name)};
}

/// The type of about as many bits that has blocks of 32 numbers where `type` has 256: what ggml's
/// tools choose, too.
WeightType of_shorter_blocks(WeightType type) {
  if (type == WeightType::q4_k) return WeightType::q5_0;
  if (type == WeightType::q5_k) return WeightType::q5_1;
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
    } else if (format == ModelFormat::safetensors && fits(part.vector, tensor.offset, embedding)) {
      type = embedding;
    }
    tensor.spec.type = formats::element_type(type);
  }
}

std::uint32_t gguf_file_type(const WeightMix& mix) {
  if (mix.more_bits) return 15;
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
      return 14;
    case WeightType::q5_k:
      return 16;
    case WeightType::q6_k:
      return 18;
    case WeightType::q4_1:
      return 3;
    case WeightType::q2_k:
      return 10;
    case WeightType::q3_k:
      return 11;
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
