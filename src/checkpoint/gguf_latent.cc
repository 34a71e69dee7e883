#include "gguf_parts.h"

namespace forge::checkpoint::detail {
namespace {

/// Sizes of a head: of the part of its key that does not turn, and of its value.
void read_head_sizes(GgufFields& fields, model::LatentConfig& latent) {
  // Newer files describe attention over latents, which has one KV head, the latent with the part
  // that turns; and say in keys of their own what a head is once it is made from the latent.
  const bool absorbed = fields.has("attention.key_length_mla");
  const int kv_heads = absorbed ? 1 : latent.heads;
  fields.integer("attention.head_count_kv", {kv_heads, kv_heads}, kv_heads);
  if (absorbed) {
    const int width = latent.kv_rank + latent.rope_size;
    fields.integer("attention.key_length", {width, width}, width);
    fields.integer("attention.value_length", {latent.kv_rank, latent.kv_rank}, latent.kv_rank);
  }
  const std::string suffix = absorbed ? "_mla" : "";
  const model::IntegerRange sizes{std::int64_t{latent.rope_size} + 1,
                                  std::int64_t{latent.rope_size} + model::kHeadSizeMax};
  latent.nope_size = fields.integer("attention.key_length" + suffix, sizes) - latent.rope_size;
  latent.value_size = fields.integer("attention.value_length" + suffix, model::kHeadSizes);
}

}  // namespace

model::LatentConfig read_gguf_latent(GgufFields& fields, int rope_size) {
  model::LatentConfig latent;
  latent.rope_size = rope_size;
  latent.heads = fields.integer("attention.head_count", model::kHeadCounts);
  latent.query_rank = fields.integer("attention.q_lora_rank", model::kSizes, 0);
  latent.kv_rank = fields.integer("attention.kv_lora_rank", model::kSizes);
  read_head_sizes(fields, latent);
  fields.integer("attention.sliding_window", {0, 0}, 0);
  // Queries of late positions grow by it, in models that only share the architecture's name.
  fields.number("attention.temperature_scale", {0, 0}, 0);
  return latent;
}

}  // namespace forge::checkpoint::detail
