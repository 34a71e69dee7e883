#include "latent_pass.h"

#include "attention_path.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

/// [rows][H][stride], of which a product reads or writes the first components of each head.
struct HeadRows {
  float* data;
  int stride;
};

/// y = x, each head by its own matrix.
void project_heads(const DevicePass& pass, const HeadRows& x, const DeviceMatrices& matrices,
                   const HeadRows& y) {
  const RowCount rows = pass.all_rows();
  const auto launch = [&](const DeviceSection& section, const RowGroup* coded) {
    pass.queue.launch(ProjectHeadsArgs{.row_count = rows.on_device,
                                       .x = x.data,
                                       .panels = section.panels,
                                       .matrix_bytes = matrices.matrix_bytes,
                                       .y = y.data + section.first_output,
                                       .heads = matrices.count,
                                       .inputs = matrices.inputs,
                                       .outputs = section.outputs,
                                       .x_stride = x.stride,
                                       .y_stride = y.stride,
                                       .kind = section.kind,
                                       .coded = coded},
                      rows.most);
  };
  for_each_section(pass, rows, {x.data, matrices.count, x.stride}, matrices, launch);
}

}  // namespace

LatentPass::LatentPass(const model::ModelConfig& model, const Capacity& capacity,
                       Allocator& allocator)
    : model_(model),
      config_(std::get<model::LatentConfig>(model.attention)),
      kv_layers_(capacity),
      split_rows_(capacity.split_rows) {
  const std::uint64_t rows = capacity.slab_rows;
  const int heads = config_.heads;
  const int width = config_.kv_rank + config_.rope_size;
  query_latent_ = allocator.rows(rows, config_.query_rank, "latents of queries");
  query_ = allocator.rows(rows, heads * (config_.nope_size + config_.rope_size), "queries");
  products_ = allocator.rows(rows, width, "latents");
  absorbed_ = allocator.rows(rows, heads * width, "queries in terms of latents");
  sums_ = allocator.rows(rows, heads * config_.kv_rank, "sums of latents");
  values_ = allocator.rows(rows, heads * config_.value_size, "attended");
  partial_ = allocator.rows(std::uint64_t{capacity.split_rows} * capacity.key_segments,
                            heads * (config_.kv_rank + 2), "partial attention");
}

void LatentPass::run(const DevicePass& pass, const DeviceLatent& weights, int layer, const float* x,
                     const Output& to) const {
  const LatentLayer latents = kv_layers_.of(pass, config_, layer);
  const model::RopeConfig* const rope = rope_of(model_, layer);
  const bool adjacent = rope != nullptr && rope->pairing == model::RopePairing::adjacent;
  make_queries(pass, weights, x);
  project(pass, pass.all_rows(), x, weights.kv_down, {.y = products_.as<float>()});
  pass.queue.launch(StoreLatentArgs{.counts = pass.counts,
                                    .rows = pass.rows,
                                    .rotary = rope == nullptr ? nullptr : pass.rotary,
                                    .norm = weights.kv_norm,
                                    .products = products_.as<float>(),
                                    .queries = query_.as<float>(),
                                    .absorbed = absorbed_.as<float>(),
                                    .latents = latents,
                                    .heads = config_.heads,
                                    .nope_size = config_.nope_size,
                                    .eps = config_.latent_norm_eps,
                                    .adjacent = adjacent},
                    pass.all_rows().most);
  attend(pass, {.counts = pass.counts,
                .rows = pass.rows,
                .queries = absorbed_.as<float>(),
                .out = sums_.as<float>(),
                .latents = latents,
                .heads = config_.heads,
                .scale = model_.attention_scale});
  project_heads(pass, {sums_.as<float>(), config_.kv_rank}, weights.value_up,
                {values_.as<float>(), config_.value_size});
  project(pass, pass.all_rows(), values_.as<float>(), weights.output, to);
}

/// The components that do not turn, in terms of latents; store_latent adds those that do.
void LatentPass::make_queries(const DevicePass& pass, const DeviceLatent& weights,
                              const float* x) const {
  const RowCount rows = pass.all_rows();
  if (config_.query_rank > 0) {
    auto* const latent = query_latent_.as<float>();
    project(pass, rows, x, weights.query_down, {.y = latent});
    pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                  .logits = nullptr,
                                  .x = latent,
                                  .weight = weights.query_norm,
                                  .y = latent,
                                  .size = config_.query_rank,
                                  .eps = config_.latent_norm_eps},
                      rows.most);
    x = latent;
  }
  project(pass, rows, x, weights.query_up, {.y = query_.as<float>()});
  project_heads(pass, {query_.as<float>(), config_.nope_size + config_.rope_size}, weights.key_up,
                {absorbed_.as<float>(), config_.kv_rank + config_.rope_size});
}

/// All rows alike. Few decodes with long contexts are split, if no other rows are with them.
void LatentPass::attend(const DevicePass& pass, const LatentAttentionInput& in) const {
  const PassCounts& covered = pass.shape.counts;
  const bool is_split =
      covered.prompt_tiles == 0 &&
      decode_path(covered.decode_rows, pass.shape.key_segments, split_rows_) == DecodePath::split;
  if (!is_split) {
    pass.queue.launch(AttendLatentArgs{.in = in}, pass.all_rows().most);
    return;
  }
  const auto segments = static_cast<int>(pass.shape.key_segments);
  auto* const partial = partial_.as<float>();
  pass.queue.launch(AttendLatentSplitArgs{.in = in, .partial = partial, .segments_max = segments},
                    covered.decode_rows);
  pass.queue.launch(AttendLatentMergeArgs{.in = in, .partial = partial, .segments_max = segments},
                    covered.decode_rows);
}

}  // namespace forge::gpu
