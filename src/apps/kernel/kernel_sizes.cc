#include "kernel_sizes.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/linear/panels.h"
#include "forge/numerics/latent_attention.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;
using Members = std::vector<int KernelSizes::*>;

/// Those of attention, between `first` and `last`.
Members attention(Members first, const Members& last) {
  for (const auto member :
       {&Sizes::context, &Sizes::heads, &Sizes::kv_heads, &Sizes::head_size, &Sizes::block_size}) {
    first.push_back(member);
  }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

Members latents(Members first) {
  for (const auto member : {&Sizes::context, &Sizes::heads, &Sizes::latent_size, &Sizes::rope_size,
                            &Sizes::block_size}) {
    first.push_back(member);
  }
  return first;
}

bool uses(const KernelEntry& kernel, int KernelSizes::*size) {
  return std::find(kernel.sizes.begin(), kernel.sizes.end(), size) != kernel.sizes.end();
}

std::uint64_t product(std::initializer_list<int> sizes) {
  std::uint64_t result = 1;
  for (const int size : sizes) result *= static_cast<std::uint64_t>(size);
  return result;
}

// Floats of the buffers of a launch, about.
std::uint64_t kv_floats(const Sizes& s) {
  return 2 * product({s.seqs, s.context + s.block_size, s.kv_heads, s.head_size});
}
std::uint64_t decode_floats(const Sizes& s) {
  return kv_floats(s) + 4 * product({s.seqs, s.heads, s.head_size}) +
         2 * product({s.context, s.head_size});
}
std::uint64_t split_floats(const Sizes& s) {
  const int segments = s.context / numerics::kKeySegment + 1;
  return decode_floats(s) + 2 * product({s.seqs, s.heads, s.head_size + 2, segments});
}
std::uint64_t prompt_floats(const Sizes& s) {
  return kv_floats(s) + 4 * product({s.seqs, s.rows, s.heads, s.head_size});
}
std::uint64_t latent_floats(const Sizes& s) {
  const int width = s.latent_size + s.rope_size;
  const int segments = s.context / numerics::kKeySegment + 1;
  return product({s.seqs, s.context + s.block_size, width}) +
         product({s.seqs, s.heads, 4 * (width + 2) + s.head_size}) +
         2 * product({s.seqs, s.heads, s.latent_size + 2, segments}) +
         product({s.context, s.rope_size});
}
std::uint64_t project_floats(const Sizes& s) {
  return product({s.rows, s.hidden + 2 * s.outputs}) +
         2 * product({s.hidden, s.outputs + linear::kPanelOutputs});
}
std::uint64_t project_heads_floats(const Sizes& s) {
  const int outputs = s.latent_size + linear::kPanelOutputs;
  return product({s.rows, s.heads, s.head_size + outputs + 2 * s.rope_size}) +
         2 * product({s.heads, s.head_size, outputs});
}
std::uint64_t choice_floats(const Sizes& s) {
  return product({s.rows, s.experts + 8 * s.experts_per_token}) + 4 * product({s.experts});
}
std::uint64_t project_experts_floats(const Sizes& s) {
  return choice_floats(s) + product({s.rows, s.hidden + 2 * s.experts_per_token * s.outputs}) +
         2 * product({s.experts, s.hidden, s.outputs + linear::kPanelOutputs});
}
std::uint64_t add_experts_floats(const Sizes& s) {
  return choice_floats(s) + product({s.rows, s.hidden, 4 + s.experts_per_token});
}
std::uint64_t copy_floats(const Sizes& s) {
  return 8 * product({s.pairs, s.layers, s.kv_heads, s.head_size, s.block_size});
}
std::uint64_t embed_floats(const Sizes& s) {
  return product({s.vocabulary, s.hidden}) + 2 * product({s.rows, s.hidden});
}
std::uint64_t norm_floats(const Sizes& s) { return 3 * product({s.rows, s.groups, s.hidden}); }
std::uint64_t gate_floats(const Sizes& s) { return 4 * product({s.rows, s.mlp}); }
std::uint64_t logit_floats(const Sizes& s) { return product({s.rows, s.vocabulary}); }
std::uint64_t write_floats(const Sizes& s) { return 8 * product({s.writes}); }

std::string flag_and_value(int KernelSizes::*member, const Sizes& sizes) {
  return std::string(flag_of(member).name) + " " + std::to_string(sizes.*member);
}

KernelEntry describe_latent(gpu::KernelId id) {
  using gpu::KernelId;
  switch (id) {
    case KernelId::project_heads:
      return {
          id,
          "",
          "matrix products of single heads",
          project_heads_floats,
          {&Sizes::rows, &Sizes::heads, &Sizes::head_size, &Sizes::latent_size, &Sizes::rope_size}};
    case KernelId::store_latent:
      return {id, "", "norm and RoPE of latents, and they into the cache", latent_floats,
              latents({&Sizes::seqs, &Sizes::head_size})};
    case KernelId::attend_latent:
      return {id, "mla", "latent attention, all rows of a pass", latent_floats,
              latents({&Sizes::seqs})};
    case KernelId::attend_latent_split:
      return {id, "flash_mla", "the same, a block a segment of latents", latent_floats,
              latents({&Sizes::seqs})};
    case KernelId::attend_latent_merge:
      return {id, "", "merges the segments of attend_latent_split", latent_floats,
              latents({&Sizes::seqs})};
    default:
      break;
  }
  FORGE_CHECK(false, "no kernel ", static_cast<int>(id));
  return {};
}

KernelEntry describe_experts(gpu::KernelId id) {
  using gpu::KernelId;
  switch (id) {
    case KernelId::choose_experts:
      return {id,
              "router",
              "which experts rows go through",
              choice_floats,
              {&Sizes::rows, &Sizes::experts, &Sizes::experts_per_token}};
    case KernelId::plan_experts:
      return {id,
              "",
              "sorts rows by expert",
              choice_floats,
              {&Sizes::rows, &Sizes::experts, &Sizes::experts_per_token}};
    case KernelId::project_experts:
      return {id,
              "grouped_gemm",
              "matrix products of rows and their experts",
              project_experts_floats,
              {&Sizes::rows, &Sizes::experts, &Sizes::experts_per_token, &Sizes::hidden,
               &Sizes::outputs}};
    case KernelId::add_experts:
      return {id,
              "",
              "weighs and adds what experts made",
              add_experts_floats,
              {&Sizes::rows, &Sizes::experts, &Sizes::experts_per_token, &Sizes::hidden,
               &Sizes::accumulate}};
    default:
      break;
  }
  FORGE_CHECK(false, "no kernel ", static_cast<int>(id));
  return {};
}

/// What there is to say of a kernel.
KernelEntry describe(gpu::KernelId id) {
  using gpu::KernelId;
  switch (id) {
    case KernelId::update_tables:
      return {id, "", "writes entries of block tables", write_floats, {&Sizes::writes}};
    case KernelId::copy_blocks:
      return {
          id,
          "",
          "copies whole blocks of KV",
          copy_floats,
          {&Sizes::pairs, &Sizes::layers, &Sizes::kv_heads, &Sizes::head_size, &Sizes::block_size}};
    case KernelId::embed:
      return {id,
              "",
              "looks up embeddings",
              embed_floats,
              {&Sizes::rows, &Sizes::hidden, &Sizes::vocabulary, &Sizes::weights}};
    case KernelId::rms_norm:
      return {id,
              "rmsnorm",
              "RMSNorm",
              norm_floats,
              {&Sizes::rows, &Sizes::hidden, &Sizes::groups, &Sizes::accumulate}};
    case KernelId::project:
      return {id,
              "gemm",
              "matrix product, x W^T",
              project_floats,
              {&Sizes::rows, &Sizes::hidden, &Sizes::outputs, &Sizes::accumulate, &Sizes::bias,
               &Sizes::weights}};
    case KernelId::rotate_and_store:
      return {id, "rope", "RoPE, and KV into the cache", decode_floats,
              attention({&Sizes::seqs}, {&Sizes::rotary_size, &Sizes::adjacent})};
    case KernelId::attend_decode:
      return {id, "paged_decode", "paged attention, a batch of decodes", decode_floats,
              attention({&Sizes::seqs}, {&Sizes::window})};
    case KernelId::attend_split:
      return {id, "flash_decode", "the same, a block a segment of keys", split_floats,
              attention({&Sizes::seqs}, {&Sizes::window})};
    case KernelId::attend_merge:
      return {id, "", "merges the segments of attend_split", split_floats,
              attention({&Sizes::seqs}, {&Sizes::window})};
    case KernelId::attend_prompt:
      return {id, "paged_prefill", "paged attention, chunks of prompts", prompt_floats,
              attention({&Sizes::seqs, &Sizes::rows}, {&Sizes::window})};
    case KernelId::project_heads:
    case KernelId::store_latent:
    case KernelId::attend_latent:
    case KernelId::attend_latent_split:
    case KernelId::attend_latent_merge:
      return describe_latent(id);
    case KernelId::choose_experts:
    case KernelId::plan_experts:
    case KernelId::project_experts:
    case KernelId::add_experts:
      return describe_experts(id);
    case KernelId::silu_multiply:
      return {id, "swiglu", "the gate of SwiGLU", gate_floats, {&Sizes::rows, &Sizes::mlp}};
    case KernelId::sample:
      return {id,
              "gumbel",
              "picks tokens",
              logit_floats,
              {&Sizes::rows, &Sizes::vocabulary, &Sizes::temperature_percent}};
    case KernelId::digest_logits:
      return {id, "", "64-bit digests of logits", logit_floats, {&Sizes::rows, &Sizes::vocabulary}};
  }
  FORGE_CHECK(false, "no kernel ", static_cast<int>(id));
  return {};
}

}  // namespace

const std::vector<SizeFlag>& size_flags() {
  static const std::vector<SizeFlag> kFlags{
      {"--seqs", "Sequences", &Sizes::seqs, 1, 4096},
      {"--context", "Positions of each sequence, with those of this launch", &Sizes::context, 1,
       1 << 20},
      {"--rows", "Rows of the launch; for attend_prompt those of each sequence", &Sizes::rows, 1,
       4096},
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
      {"--window", "Positions that a row sees; 0: all", &Sizes::window, 0, 1 << 20},
      {"--rotary-size", "Components of a head that turn, an even number; 0: all",
       &Sizes::rotary_size, 0, numerics::kHeadSizeMax},
      {"--adjacent", "1: neighbours turn together, not halves", &Sizes::adjacent, 0, 1},
      {"--bias", "1: add a bias", &Sizes::bias, 0, 1},
      {"--groups", "Vectors of a row, each with its norm", &Sizes::groups, 1, 256},
      {"--weights", "0: F32, 1: F16, 2: BF16", &Sizes::weights, 0, 2},
  };
  return kFlags;
}

const std::vector<KernelEntry>& kernel_entries() {
  static const std::vector<KernelEntry> kEntries = [] {
    std::vector<KernelEntry> entries;
    for (std::size_t i = 0; i < gpu::kKernelNames.size(); ++i) {
      entries.push_back(describe(static_cast<gpu::KernelId>(i)));
    }
    return entries;
  }();
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

const SizeFlag& flag_of(int KernelSizes::*size) {
  for (const SizeFlag& flag : size_flags()) {
    if (flag.member == size) return flag;
  }
  FORGE_CHECK(false, "a size without a flag");
  return size_flags().front();
}

tl::expected<void, std::string> validate(const KernelEntry& kernel, const KernelSizes& sizes) {
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
  if (uses(kernel, &Sizes::rope_size) && sizes.rope_size % 2 != 0) {
    return tl::unexpected(flag_and_value(&Sizes::rope_size, sizes) + " is not even");
  }
  if (uses(kernel, &Sizes::experts) && sizes.experts_per_token > sizes.experts) {
    return tl::unexpected(flag_and_value(&Sizes::experts_per_token, sizes) + " is more than " +
                          flag_and_value(&Sizes::experts, sizes));
  }
  if (uses(kernel, &Sizes::context) && uses(kernel, &Sizes::rows) && sizes.rows > sizes.context) {
    return tl::unexpected(flag_and_value(&Sizes::rows, sizes) + " is more than " +
                          flag_and_value(&Sizes::context, sizes));
  }
  const std::uint64_t bytes = kernel.floats(sizes) * sizeof(float);
  if (bytes > kKernelBytesMax) {
    return tl::unexpected("with " + to_string(kernel, sizes) + " buffers take about " +
                          std::to_string(bytes >> 20) + " MiB, accepted are up to " +
                          std::to_string(kKernelBytesMax >> 20));
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
