#include "kernel_sizes.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/linear/code_layout.h"
#include "forge/linear/panels.h"
#include "forge/numerics/fast.h"
#include "forge/numerics/kv_type.h"
#include "forge/numerics/latent_attention.h"
#include "forge/quant/weight_type.h"

namespace forge::apps {
namespace {

constexpr const char* kWeightsHelp =
    "0: F32, 1: F16, 2: BF16 (Q8_0 where they have to be codes), 4: Q8_0, 5: Q4_0, 6: Q5_0, 7: "
    "Q5_1, 8: Q4_K, 9: Q5_K, 10: Q6_K, "
    "11: Q4_1, 12: Q2_K, 13: Q3_K, 14: IQ4_NL, 15: IQ4_XS, 16: MXFP4";

using Sizes = KernelSizes;
using Members = std::vector<int KernelSizes::*>;

Members joined(Members first, const Members& last) {
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

bool uses(const KernelEntry& kernel, int KernelSizes::*size) {
  return std::find(kernel.sizes.begin(), kernel.sizes.end(), size) != kernel.sizes.end();
}

bool takes_codes_alone(gpu::KernelId kernel) {
  using enum gpu::KernelId;
  return kernel == project_codes_few || kernel == project_codes_narrow ||
         kernel == project_codes_wide || kernel == project_experts_codes_narrow ||
         kernel == project_experts_codes_wide;
}

/// Buffers have about so many floats for each product of these sizes.
struct Term {
  double floats;
  Members sizes;
};

/// Bytes of the buffers of a launch, about: the terms of all whose sizes the kernel uses.
double bytes_about(const KernelEntry& kernel, const Sizes& sizes) {
  using S = Sizes;
  constexpr double kSegment = numerics::kKeySegment;
  static const std::vector<Term> kTerms{
      {2, {&S::seqs, &S::context, &S::kv_heads, &S::head_size}},
      {2, {&S::seqs, &S::block_size, &S::kv_heads, &S::head_size}},
      {6, {&S::seqs, &S::heads, &S::head_size}},
      {4, {&S::seqs, &S::rows, &S::heads, &S::head_size}},
      {4 / kSegment, {&S::seqs, &S::heads, &S::head_size, &S::context}},
      {2, {&S::context, &S::head_size}},
      {1, {&S::seqs, &S::context, &S::latent_size}},
      {1, {&S::seqs, &S::context, &S::rope_size}},
      {1, {&S::seqs, &S::block_size, &S::latent_size}},
      {1, {&S::seqs, &S::block_size, &S::rope_size}},
      {6, {&S::seqs, &S::heads, &S::latent_size}},
      {6, {&S::seqs, &S::heads, &S::rope_size}},
      {4 / kSegment, {&S::seqs, &S::heads, &S::latent_size, &S::context}},
      {1, {&S::context, &S::rope_size}},
      {3, {&S::rows, &S::hidden, &S::groups}},
      {3, {&S::rows, &S::hidden}},
      {2, {&S::rows, &S::outputs}},
      {2, {&S::hidden, &S::outputs}},
      {2.0 * linear::kPanelOutputs, {&S::hidden}},
      {3, {&S::rows, &S::heads, &S::head_size}},
      {2, {&S::rows, &S::heads, &S::latent_size}},
      {2, {&S::rows, &S::heads, &S::rope_size}},
      {2, {&S::heads, &S::head_size, &S::latent_size}},
      {2.0 * linear::kPanelOutputs, {&S::heads, &S::head_size}},
      {2, {&S::rows, &S::experts}},
      {8, {&S::rows, &S::experts_per_token}},
      {2, {&S::rows, &S::experts_per_token, &S::outputs}},
      {1, {&S::rows, &S::experts_per_token, &S::hidden}},
      {2, {&S::experts, &S::hidden, &S::outputs}},
      {8, {&S::pairs, &S::layers, &S::kv_heads, &S::head_size, &S::block_size}},
      {1, {&S::vocabulary, &S::hidden}},
      {1, {&S::rows, &S::vocabulary}},
      {4, {&S::rows, &S::mlp}},
      {8, {&S::writes}},
  };
  double floats = 0;
  for (const Term& term : kTerms) {
    double product = term.floats;
    for (const auto size : term.sizes) product *= uses(kernel, size) ? sizes.*size : 0;
    floats += product;
  }
  return floats * sizeof(float);
}

std::string flag_and_value(int KernelSizes::*member, const Sizes& sizes) {
  return std::string(flag_of(member).name) + " " + std::to_string(sizes.*member);
}

}  // namespace

const std::vector<SizeFlag>& size_flags() {
  static const std::vector<SizeFlag> kFlags{
      {"--seqs", "Sequences", &Sizes::seqs, 1, 4096},
      {"--context", "Positions of each sequence, with those of this launch", &Sizes::context, 1,
       1 << 20},
      {"--rows", "Rows of the launch; for attention those of each sequence", &Sizes::rows, 1, 4096},
      {"--heads", "Query heads", &Sizes::heads, 1, 256},
      {"--kv-heads", "KV heads", &Sizes::kv_heads, 1, 256},
      {"--head-size", "Components of a head", &Sizes::head_size, 1, numerics::kHeadSizeMax},
      {"--latent-size", "Components of a latent", &Sizes::latent_size, 1,
       numerics::kLatentSizeMax / 2},
      {"--rope-size", "Components of its key part that turn, an even number", &Sizes::rope_size, 2,
       numerics::kLatentSizeMax / 2},
      {"--block-size", "Positions in a block of KV", &Sizes::block_size, 1, 1024},
      {"--layers", "Layers in a block of KV", &Sizes::layers, 1, 256},
      {"--hidden", "Hidden size; inputs of a projection", &Sizes::hidden, 1, 1 << 16},
      {"--outputs", "Outputs of a projection", &Sizes::outputs, 1, 1 << 18},
      {"--mlp", "Inner size of the MLP", &Sizes::mlp, 1, 1 << 18},
      {"--experts", "Experts", &Sizes::experts, 1, gpu::ChooseExpertsArgs::kExpertsMax},
      {"--experts-per-token", "Experts of a row", &Sizes::experts_per_token, 1, 64},
      {"--vocabulary", "Tokens", &Sizes::vocabulary, 1, 1 << 20},
      {"--pairs", "Pairs of blocks", &Sizes::pairs, 1, 4096},
      {"--writes", "Entries written", &Sizes::writes, 1, 1 << 16},
      {"--accumulate", "1: add to what is there", &Sizes::accumulate, 0, 1},
      {"--temperature", "Temperature in percent; 0: the largest logit", &Sizes::temperature_percent,
       0, 1000},
      {"--top-k", "Most likely tokens that are kept; 0: all", &Sizes::top_k, 0, 1 << 20},
      {"--top-p", "Part of their mass that is kept, in percent", &Sizes::top_p_percent, 0, 100},
      {"--window", "Positions that a row sees; 0: all", &Sizes::window, 0, 1 << 20},
      {"--rotary-size", "Components of a head that turn, an even number; 0: all",
       &Sizes::rotary_size, 0, numerics::kHeadSizeMax},
      {"--adjacent", "1: neighbours turn together, not halves", &Sizes::adjacent, 0, 1},
      {"--bias", "1: add a bias", &Sizes::bias, 0, 1},
      {"--groups", "Vectors of a row, each with its norm", &Sizes::groups, 1, 256},
      {"--activation", "0: SwiGLU, 1: GeGLU, 2: SwiGLU of clamped inputs", &Sizes::activation, 0,
       2},
      {"--sinks", "1: heads of attention have sinks", &Sizes::sinks, 0, 1},
      {"--shared-gate", "1: what shared experts made has a gate", &Sizes::shared_gate, 0, 1},
      {"--cap", "Soft cap of logits, or of scores; 0: none", &Sizes::cap, 0, 1000},
      {"--candidates", "1: of each 8 outputs only the largest is written; a pick begins with these",
       &Sizes::candidates, 0, 1},
      {"--weights", kWeightsHelp, &Sizes::weights, 0,
       static_cast<int>(quant::kWeightTypes.size()) - 1},
      {"--kv", "Type of KV, 0: f32 (bf16 where it has to be 16 bits), 1: bf16, 2: f16", &Sizes::kv,
       0, static_cast<int>(Names<numerics::KvType>::kCount) - 1},
      {"--norms", "Norms of queries and keys, 0: none, 1: of each head, 2: of all heads",
       &Sizes::norms, 0, 2},
  };
  return kFlags;
}

namespace {

/// What several kernels have.
struct SharedSizes {
  Members attention{&Sizes::seqs,      &Sizes::context,    &Sizes::heads, &Sizes::kv_heads,
                    &Sizes::head_size, &Sizes::block_size, &Sizes::kv};
  Members seen = joined(attention, {&Sizes::window, &Sizes::cap, &Sizes::sinks});
  Members latents{&Sizes::seqs,      &Sizes::context,    &Sizes::heads, &Sizes::latent_size,
                  &Sizes::rope_size, &Sizes::block_size, &Sizes::kv};
  Members choice{&Sizes::rows, &Sizes::experts, &Sizes::experts_per_token};
  Members product{&Sizes::rows, &Sizes::hidden, &Sizes::outputs,   &Sizes::accumulate,
                  &Sizes::bias, &Sizes::cap,    &Sizes::candidates};
  Members sums{&Sizes::rows, &Sizes::outputs, &Sizes::accumulate,
               &Sizes::bias, &Sizes::cap,     &Sizes::candidates};
  Members code_product = joined(product, {&Sizes::weights});
  Members expert_product = joined(choice, {&Sizes::hidden, &Sizes::outputs, &Sizes::bias});
  Members expert_code_product = joined(expert_product, {&Sizes::weights});
  std::vector<SizeMultiple> row{{&Sizes::hidden, numerics::kSquaresGroup}};
  std::vector<SizeMultiple> group{{&Sizes::hidden, linear::codes::kGroup}};
  std::vector<SizeMultiple> head{{&Sizes::head_size, numerics::kStepProducts}};
  std::vector<SizeMultiple> key{{&Sizes::latent_size, numerics::kStepProducts},
                                {&Sizes::rope_size, numerics::kStepProducts}};
};

std::vector<KernelEntry> canonical_kernels(const SharedSizes& shared) {
  using enum gpu::KernelId;
  using S = Sizes;
  return {
      {update_tables, "", "writes entries of block tables", {&S::writes}},
      {copy_blocks,
       "",
       "copies whole blocks of KV",
       {&S::pairs, &S::layers, &S::kv_heads, &S::head_size, &S::block_size, &S::kv}},
      {embed, "", "looks up embeddings", {&S::rows, &S::hidden, &S::vocabulary, &S::weights}},
      {rms_norm, "rmsnorm", "RMSNorm", {&S::rows, &S::hidden, &S::groups, &S::accumulate}},
      {code_rows, "quantize_rows", "rows in 8 bits, in groups of 32", {&S::rows, &S::hidden}},
      {project,
       "gemm",
       "matrix product, x W^T",
       {&S::rows, &S::hidden, &S::outputs, &S::accumulate, &S::bias, &S::weights, &S::cap}},
      {rotate_and_store, "rope", "RoPE, and KV into the cache",
       joined(shared.attention, {&S::rotary_size, &S::adjacent})},
      {attend_decode, "paged_decode", "paged attention, a batch of decodes", shared.seen},
      {attend_split, "flash_decode", "the same, a block a segment of keys", shared.seen},
      {attend_merge, "", "merges the segments of attend_split", shared.seen},
      {attend_prompt, "paged_prefill", "paged attention, chunks of prompts",
       joined({&S::rows}, shared.seen)},
      {project_heads,
       "",
       "matrix products of single heads",
       {&S::rows, &S::heads, &S::head_size, &S::latent_size, &S::rope_size}},
      {store_latent, "", "norm and RoPE of latents, and they into the cache",
       joined(shared.latents, {&S::head_size})},
      {attend_latent, "mla", "latent attention, all rows of a pass", shared.latents},
      {attend_latent_split, "flash_mla", "the same, a block a segment of latents", shared.latents},
      {attend_latent_merge, "", "merges the segments of attend_latent_split", shared.latents},
      {choose_experts, "router", "which experts rows go through", shared.choice},
      {plan_experts, "", "sorts rows by expert", shared.choice},
      {project_experts, "grouped_gemm", "matrix products of rows and their experts",
       shared.expert_product},
      {add_experts, "", "weighs and adds what experts made",
       joined(shared.choice, {&S::hidden, &S::accumulate, &S::shared_gate})},
      {glu, "swiglu", "gated linear unit", {&S::rows, &S::mlp, &S::activation}},
  };
}

std::vector<KernelEntry> fast_kernels(const SharedSizes& shared) {
  using enum gpu::KernelId;
  using S = Sizes;
  return {
      {scale_rows, "", "rows in 16 bits, and squares for their norms",
       Members{&S::rows, &S::hidden}, shared.row},
      {project_narrow, "skinny_gemm", "the product of few rows on tensor cores", shared.product,
       shared.row},
      {project_wide, "", "the same of many rows", shared.product, shared.row},
      {finish_product,
       "",
       "what becomes of the sums of a library",
       shared.sums,
       {{&S::outputs, gpu::FinishProductArgs::kLaneResults}}},
      {project_codes_few, "q_gemv", "the product of few rows in 8 bits and weights of codes",
       shared.code_product, shared.group},
      {project_codes_narrow, "", "the same of up to 16 rows, on tensor cores", shared.code_product,
       shared.group},
      {project_codes_wide, "q_gemm", "the same of many rows", shared.code_product, shared.group},
      {project_experts_narrow, "", "products of rows and their experts on tensor cores, few rows",
       shared.expert_product, shared.row},
      {project_experts_wide, "", "the same of many rows", shared.expert_product, shared.row},
      {project_experts_codes_narrow, "", "products of few rows and experts of codes",
       shared.expert_code_product, shared.group},
      {project_experts_codes_wide, "", "the same of many rows", shared.expert_code_product,
       shared.group},
      {prepare_heads, "", "norms of heads, RoPE, and KV into the cache",
       joined(shared.attention, {&S::rotary_size, &S::adjacent, &S::norms})},
      {attend_spans, "", "paged attention of few rows on tensor cores",
       joined({&S::rows}, shared.seen), shared.head},
      {merge_spans, "", "merges the spans of attend_spans", shared.seen, shared.head},
      {attend_wide, "", "paged attention of many rows on tensor cores",
       joined({&S::rows}, shared.seen), shared.head},
      {project_heads_wide,
       "",
       "products of single heads on tensor cores",
       {&S::rows, &S::heads, &S::head_size, &S::latent_size, &S::rope_size},
       {{&S::head_size, numerics::kSquaresGroup}}},
      {prepare_latents, "", "norm and RoPE of latents, and they into the cache, in 16 bits",
       joined(shared.latents, {&S::head_size})},
      {attend_latent_spans, "", "latent attention on tensor cores",
       joined({&S::rows}, shared.latents), shared.key},
  };
}

/// Of what is made of logits.
std::vector<KernelEntry> kernels_of_logits() {
  using enum gpu::KernelId;
  using S = Sizes;
  return {
      {process_logits,
       "top_k_top_p",
       "penalties, and tokens ruled out",
       {&S::rows, &S::vocabulary, &S::temperature_percent, &S::top_k, &S::top_p_percent}},
      {sample,
       "gumbel",
       "picks tokens",
       {&S::rows, &S::vocabulary, &S::temperature_percent, &S::candidates}},
      {digest_logits, "", "64-bit digests of logits", {&S::rows, &S::vocabulary}},
  };
}

std::vector<KernelEntry> all_kernels() {
  const SharedSizes shared;
  std::vector<KernelEntry> all = canonical_kernels(shared);
  for (const auto& more : {fast_kernels(shared), kernels_of_logits()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

const std::vector<KernelEntry>& kernel_entries() {
  static const std::vector<KernelEntry> kEntries = all_kernels();
  return kEntries;
}

tl::expected<const KernelEntry*, std::string> find_kernel(const std::string& name) {
  std::string names;
  for (const KernelEntry& entry : kernel_entries()) {
    if (name == entry.name() || (!name.empty() && name == entry.alias)) return &entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name());
    if (*entry.alias != '\0') names += " (" + std::string(entry.alias) + ")";
  }
  return tl::unexpected("there is no kernel '" + name + "', but " + names);
}

quant::WeightType code_type(int weights) {
  const auto type = static_cast<quant::WeightType>(weights);
  const bool is_of_floats = type == quant::WeightType::f32 || type == quant::WeightType::f16 ||
                            type == quant::WeightType::bf16;
  return is_of_floats ? quant::WeightType::q8_0 : type;
}

const SizeFlag& flag_of(int KernelSizes::*size) {
  for (const SizeFlag& flag : size_flags()) {
    if (flag.member == size) return flag;
  }
  FORGE_CHECK(false, "a size without a flag");
  return size_flags().front();
}

tl::expected<void, std::string> validate(const KernelEntry& kernel, const KernelSizes& sizes) {
  for (const SizeMultiple& multiple : kernel.multiples) {
    if (sizes.*multiple.size % multiple.of != 0) {
      return tl::unexpected(flag_and_value(multiple.size, sizes) + " is no multiple of " +
                            std::to_string(multiple.of));
    }
  }
  if (uses(kernel, &Sizes::kv_heads) && sizes.heads % sizes.kv_heads != 0) {
    return tl::unexpected(flag_and_value(&Sizes::heads, sizes) + " is no multiple of " +
                          flag_and_value(&Sizes::kv_heads, sizes));
  }
  if (uses(kernel, &Sizes::rotary_size)) {
    const auto turning = sizes.rotary_size > 0 ? &Sizes::rotary_size : &Sizes::head_size;
    if (sizes.*turning % 2 != 0) {
      return tl::unexpected(flag_and_value(turning, sizes) + " is not even");
    }
    if (sizes.rotary_size > sizes.head_size) {
      return tl::unexpected(flag_and_value(&Sizes::rotary_size, sizes) + " is more than " +
                            flag_and_value(&Sizes::head_size, sizes));
    }
  }
  if (uses(kernel, &Sizes::weights)) {
    const auto type = takes_codes_alone(kernel.id) ? code_type(sizes.weights)
                                                   : static_cast<quant::WeightType>(sizes.weights);
    if (type == quant::WeightType::i8) {
      return tl::unexpected(flag_and_value(&Sizes::weights, sizes) +
                            ", I8, has its scales elsewhere; accepted are 0 .. 2 and 4 .. 16");
    }
    const auto block = static_cast<int>(quant::block_elements(type));
    if (sizes.hidden % block != 0) {
      return tl::unexpected(flag_and_value(&Sizes::hidden, sizes) + " is no multiple of " +
                            std::to_string(block));
    }
  }
  if (uses(kernel, &Sizes::rope_size) && sizes.rope_size % 2 != 0) {
    return tl::unexpected(flag_and_value(&Sizes::rope_size, sizes) + " is not even");
  }
  if (kernel.id == gpu::KernelId::attend_latent_spans && sizes.latent_size > gpu::kLatentValueMax) {
    return tl::unexpected(flag_and_value(&Sizes::latent_size, sizes) + " is more than " +
                          std::to_string(gpu::kLatentValueMax));
  }
  const int most = gpu::ProjectCodesFewArgs::inputs_max(sizes.rows);
  if (kernel.id == gpu::KernelId::project_codes_few && sizes.hidden > most) {
    return tl::unexpected(flag_and_value(&Sizes::hidden, sizes) + " is more than " +
                          std::to_string(most) + ", which a block has room for");
  }
  if (uses(kernel, &Sizes::experts) && sizes.experts_per_token > sizes.experts) {
    return tl::unexpected(flag_and_value(&Sizes::experts_per_token, sizes) + " is more than " +
                          flag_and_value(&Sizes::experts, sizes));
  }
  if (uses(kernel, &Sizes::context) && uses(kernel, &Sizes::rows) && sizes.rows > sizes.context) {
    return tl::unexpected(flag_and_value(&Sizes::rows, sizes) + " is more than " +
                          flag_and_value(&Sizes::context, sizes));
  }
  for (const auto of_plain : {&Sizes::cap, &Sizes::candidates}) {
    if (uses(kernel, &Sizes::accumulate) && uses(kernel, of_plain) && sizes.accumulate > 0 &&
        sizes.*of_plain > 0) {
      return tl::unexpected(flag_and_value(of_plain, sizes) + " is not taken together with " +
                            flag_and_value(&Sizes::accumulate, sizes));
    }
  }
  const double bytes = bytes_about(kernel, sizes);
  if (bytes > static_cast<double>(kKernelBytesMax)) {
    return tl::unexpected("with " + to_string(kernel, sizes) + " buffers take about " +
                          std::to_string(static_cast<std::uint64_t>(bytes) >> 20) +
                          " MiB, accepted are up to " + std::to_string(kKernelBytesMax >> 20));
  }
  return {};
}

std::string to_string(const KernelEntry& kernel, const KernelSizes& sizes) {
  std::string text;
  for (const auto member : kernel.sizes) {
    text += (text.empty() ? "" : " ") + flag_and_value(member, sizes);
  }
  return text;
}

}  // namespace forge::apps
