#include "forge/checkpoint/tensor_names.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <variant>

#include "families.h"

namespace forge::checkpoint {
namespace {

using detail::Tensors;

/// Of layers, what follows "model.layers.N." and "blk.N."; '*' is the number of an expert.
struct Names {
  std::string_view role;
  std::string_view hf;  ///< empty: it has none
  std::string_view gguf;
};

constexpr Names kOfModel[] = {{"embedding", "model.embed_tokens.weight", "token_embd.weight"},
                              {"final_norm", "model.norm.weight", "output_norm.weight"},
                              {"head", "lm_head.weight", "output.weight"}};

constexpr Names kNormsBefore[] = {
    {"attention_norm", "input_layernorm.weight", "attn_norm.weight"},
    {"ffn_norm", "post_attention_layernorm.weight", "ffn_norm.weight"}};

constexpr Names kNormsAfter[] = {
    {"attention_norm", "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"ffn_norm", "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};

/// Norms on both sides of the sub-layers, by the two families' names for them.
constexpr Names kNormsAround[] = {
    {"attention_norm", "input_layernorm.weight", "attn_norm.weight"},
    {"attention_post_norm", "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"ffn_norm", "pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {"ffn_post_norm", "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};

constexpr Names kNormsOfGlm[] = {
    {"attention_norm", "input_layernorm.weight", "attn_norm.weight"},
    {"attention_post_norm", "post_self_attn_layernorm.weight", "post_attention_norm.weight"},
    {"ffn_norm", "post_attention_layernorm.weight", "ffn_norm.weight"},
    {"ffn_post_norm", "post_mlp_layernorm.weight", "post_ffw_norm.weight"}};

constexpr Names kFusedAttention[] = {
    {"attention.query", "self_attn.qkv_proj.weight", "attn_qkv.weight"},
    {"attention.key", "self_attn.qkv_proj.weight", "attn_qkv.weight"},
    {"attention.value", "self_attn.qkv_proj.weight", "attn_qkv.weight"}};

constexpr Names kFusedMlp[] = {{"feed_forward.gate", "mlp.gate_up_proj.weight", "ffn_up.weight"},
                               {"feed_forward.up", "mlp.gate_up_proj.weight", "ffn_up.weight"}};

constexpr Names kMixtral[] = {
    {"feed_forward.router", "block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
    {"feed_forward.experts.gate", "block_sparse_moe.experts.*.w1.weight", "ffn_gate_exps.weight"},
    {"feed_forward.experts.up", "block_sparse_moe.experts.*.w3.weight", "ffn_up_exps.weight"},
    {"feed_forward.experts.down", "block_sparse_moe.experts.*.w2.weight", "ffn_down_exps.weight"}};

constexpr Names kQwenShared[] = {
    {"feed_forward.shared.gate", "mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight"},
    {"feed_forward.shared.up", "mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight"},
    {"feed_forward.shared.down", "mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight"},
    {"feed_forward.shared_gate", "mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"}};

constexpr Names kGptOss[] = {
    {"ffn_norm", "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"feed_forward.router", "mlp.router.weight", "ffn_gate_inp.weight"},
    {"feed_forward.router_bias", "mlp.router.bias", "ffn_gate_inp.bias"},
    {"feed_forward.experts.gate", "mlp.experts.gate_up_proj", "ffn_gate_exps.weight"},
    {"feed_forward.experts.up", "mlp.experts.gate_up_proj", "ffn_up_exps.weight"},
    {"feed_forward.experts.down", "mlp.experts.down_proj", "ffn_down_exps.weight"},
    {"feed_forward.experts.gate_bias", "mlp.experts.gate_up_proj_bias", "ffn_gate_exps.bias"},
    {"feed_forward.experts.up_bias", "mlp.experts.gate_up_proj_bias", "ffn_up_exps.bias"},
    {"feed_forward.experts.down_bias", "mlp.experts.down_proj_bias", "ffn_down_exps.bias"}};

constexpr Names kGroupedQuery[] = {
    {"attention.query", "self_attn.q_proj.weight", "attn_q.weight"},
    {"attention.key", "self_attn.k_proj.weight", "attn_k.weight"},
    {"attention.value", "self_attn.v_proj.weight", "attn_v.weight"},
    {"attention.output", "self_attn.o_proj.weight", "attn_output.weight"},
    {"attention.query_bias", "self_attn.q_proj.bias", "attn_q.bias"},
    {"attention.key_bias", "self_attn.k_proj.bias", "attn_k.bias"},
    {"attention.value_bias", "self_attn.v_proj.bias", "attn_v.bias"},
    {"attention.output_bias", "self_attn.o_proj.bias", "attn_output.bias"},
    {"attention.query_norm", "self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"attention.key_norm", "self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"attention.sinks", "self_attn.sinks", "attn_sinks.weight"}};

constexpr Names kLatent[] = {
    {"attention.query_down", "self_attn.q_a_proj.weight", "attn_q_a.weight"},
    {"attention.query_norm", "self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight"},
    {"attention.query_up", "self_attn.q_b_proj.weight", "attn_q_b.weight"},
    {"attention.kv_down", "self_attn.kv_a_proj_with_mqa.weight", "attn_kv_a_mqa.weight"},
    {"attention.kv_norm", "self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight"},
    {"attention.output", "self_attn.o_proj.weight", "attn_output.weight"},
    {"attention.kv_up", "self_attn.kv_b_proj.weight", "attn_kv_b.weight"},
    {"attention.key_up", "", "attn_k_b.weight"},
    {"attention.value_up", "", "attn_v_b.weight"}};

/// Latent attention whose queries come from the hidden state.
constexpr Names kDirectQuery[] = {
    {"attention.query_up", "self_attn.q_proj.weight", "attn_q.weight"}};

constexpr Names kMlp[] = {
    {"feed_forward.gate", "mlp.gate_proj.weight", "ffn_gate.weight"},
    {"feed_forward.up", "mlp.up_proj.weight", "ffn_up.weight"},
    {"feed_forward.down", "mlp.down_proj.weight", "ffn_down.weight"},
    {"feed_forward.gate_bias", "mlp.gate_proj.bias", "ffn_gate.bias"},
    {"feed_forward.up_bias", "mlp.up_proj.bias", "ffn_up.bias"},
    {"feed_forward.down_bias", "mlp.down_proj.bias", "ffn_down.bias"},
    {"feed_forward.router", "mlp.gate.weight", "ffn_gate_inp.weight"},
    {"feed_forward.correction_bias", "mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
    {"feed_forward.experts.gate", "mlp.experts.*.gate_proj.weight", "ffn_gate_exps.weight"},
    {"feed_forward.experts.up", "mlp.experts.*.up_proj.weight", "ffn_up_exps.weight"},
    {"feed_forward.experts.down", "mlp.experts.*.down_proj.weight", "ffn_down_exps.weight"},
    {"feed_forward.shared.gate", "mlp.shared_experts.gate_proj.weight", "ffn_gate_shexp.weight"},
    {"feed_forward.shared.up", "mlp.shared_experts.up_proj.weight", "ffn_up_shexp.weight"},
    {"feed_forward.shared.down", "mlp.shared_experts.down_proj.weight", "ffn_down_shexp.weight"}};

Tensors names_of(const model::ModelConfig& config) {
  const detail::Family* const family = detail::family_of(config);
  return family == nullptr ? Tensors::usual : family->tensors;
}

using Tables = std::vector<std::span<const Names>>;

/// Those of a family that has other names than Llama.
void add_own(Tensors names, Tables& tables) {
  switch (names) {
    case Tensors::usual:
    case Tensors::gemma:
      return;
    case Tensors::gpt_oss:
      tables.emplace_back(kGptOss);
      return;
    case Tensors::mixtral:
      tables.emplace_back(kMixtral);
      return;
    case Tensors::qwen_shared:
      tables.emplace_back(kQwenShared);
      return;
    case Tensors::fused:
      tables.emplace_back(kFusedAttention);
      [[fallthrough]];
    case Tensors::glm:
      tables.emplace_back(kFusedMlp);
  }
}

/// The tables of a layer of `config`, those that go first before those that they replace.
Tables tables_of(const model::ModelConfig& config) {
  Tables tables;
  add_own(names_of(config), tables);
  tables.emplace_back(kMlp);
  switch (config.norm) {
    case model::NormPlacement::before:
      tables.emplace_back(kNormsBefore);
      break;
    case model::NormPlacement::after:
      tables.emplace_back(kNormsAfter);
      break;
    case model::NormPlacement::around:
      if (names_of(config) == Tensors::glm) tables.emplace_back(kNormsOfGlm);
      tables.emplace_back(kNormsAround);
  }
  if (const auto* latent = std::get_if<model::LatentConfig>(&config.attention)) {
    if (latent->query_rank == 0) tables.emplace_back(kDirectQuery);
    tables.emplace_back(kLatent);
  } else {
    tables.emplace_back(kGroupedQuery);
  }
  return tables;
}

/// The rows of a matrix in a tensor of several.
std::optional<RowPlace> row_place(std::string_view kind, const model::ModelConfig& config) {
  const Tensors names = names_of(config);
  const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&config.attention);
  if (names == Tensors::fused && grouped != nullptr) {
    const int queries = grouped->heads * grouped->head_size;
    const int keys = grouped->kv_heads * grouped->head_size;
    const int all = queries + 2 * keys;
    if (kind == "attention.query") return RowPlace{0, all};
    if (kind == "attention.key") return RowPlace{queries, all};
    if (kind == "attention.value") return RowPlace{queries + keys, all};
  }
  if (names == Tensors::fused || names == Tensors::glm) {
    if (kind == "feed_forward.gate") return RowPlace{0, 2 * config.ffn_size};
    if (kind == "feed_forward.up") return RowPlace{config.ffn_size, 2 * config.ffn_size};
  }
  return std::nullopt;
}

/// Where SafeTensors of gpt-oss have a weight of an expert.
void set_gpt_oss_place(std::string_view kind, StackPlace place, TensorName& name) {
  name.place = place;
  name.transposed = !kind.ends_with("_bias");
  const bool is_up = kind.starts_with("feed_forward.experts.up");
  if (!kind.starts_with("feed_forward.experts.down")) {
    name.steps = StepPlace{.first = is_up ? 1 : 0, .step = 2};
  }
}

/// What a tensor of SafeTensors leaves out of the weights of a norm.
float norm_offset(const std::string& role, const model::ModelConfig& config) {
  const detail::Family* const family = detail::family_of(config);
  return family != nullptr && family->norms_from_one && role.ends_with("norm") ? 1 : 0;
}

const Names* find(std::span<const Names> table, std::string_view role) {
  const auto found =
      std::ranges::find_if(table, [&](const Names& names) { return names.role == role; });
  return found == table.end() ? nullptr : &*found;
}

/// How many matrices a stack of this kind has.
int stack_count(std::string_view kind, const model::ModelConfig& config) {
  const auto* const latent = std::get_if<model::LatentConfig>(&config.attention);
  if (latent != nullptr && kind.starts_with("attention.")) return latent->heads;
  return config.experts ? config.experts->experts : 1;
}

}  // namespace

RoleParts parts_of_role(const std::string& role) {
  RoleParts out;
  for (std::size_t begin = 0; begin < role.size();) {
    const std::size_t end = std::min(role.find('.', begin), role.size());
    const std::string part = role.substr(begin, end - begin);
    constexpr std::size_t kDigitsMax = 6;
    const bool digits = part.find_first_not_of("0123456789") == part.npos;
    if (digits && !part.empty() && part.size() <= kDigitsMax) {
      out.numbers.push_back(std::stoi(part));
    } else {
      out.kind += (out.kind.empty() ? "" : ".") + part;
    }
    begin = end + 1;
  }
  return out;
}

std::optional<TensorName> tensor_name(const std::string& role, const model::ModelConfig& config,
                                      ModelFormat format) {
  const RoleParts parts = parts_of_role(role);
  const bool gguf = format == ModelFormat::gguf;
  TensorName out;
  if (!gguf) out.offset = norm_offset(role, config);
  if (const Names* const names = find(kOfModel, parts.kind)) {
    out.name = gguf ? names->gguf : names->hf;
    return out;
  }
  constexpr std::string_view kLayers = "layers.";
  if (!parts.kind.starts_with(kLayers) || parts.numbers.empty()) return std::nullopt;
  const std::string_view kind = std::string_view(parts.kind).substr(kLayers.size());
  const Names* names = nullptr;
  for (const std::span<const Names> table : tables_of(config)) {
    if (names == nullptr) names = find(table, kind);
  }
  if (names == nullptr || (!gguf && names->hf.empty())) return std::nullopt;
  out.rows = row_place(kind, config);
  out.flat = gguf && kind == "feed_forward.shared_gate";
  const bool one_of_many = parts.numbers.size() > 1;
  if (gguf && one_of_many) out.place = {parts.numbers[1], stack_count(kind, config)};
  if (!gguf && one_of_many && names_of(config) == Tensors::gpt_oss) {
    set_gpt_oss_place(kind, {parts.numbers[1], stack_count(kind, config)}, out);
  }
  std::string rest(gguf ? names->gguf : names->hf);
  if (const std::size_t star = rest.find('*'); star != rest.npos && one_of_many) {
    rest.replace(star, 1, std::to_string(parts.numbers[1]));
  }
  out.name = (gguf ? "blk." : "model.layers.") + std::to_string(parts.numbers[0]) + "." + rest;
  return out;
}

}  // namespace forge::checkpoint
