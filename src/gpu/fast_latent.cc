#include "fast_latent.h"

#include "attention_path.h"
#include "forge/gpu/kernels.h"
#include "span_launches.h"

namespace forge::gpu {

FastLatent::FastLatent(const model::ModelConfig& model, numerics::HalfType type,
                       const Capacity& capacity, Allocator& allocator)
    : model_(model),
      config_(std::get<model::LatentConfig>(model.attention)),
      kv_layers_(capacity),
      split_rows_(capacity.split_rows),
      products_(type, capacity) {
  const std::uint64_t rows = capacity.slab_rows;
  const int heads = config_.heads;
  const int width = config_.kv_rank + config_.rope_size;
  if (config_.query_rank > 0) {
    query_latent_ = allocator.rows(rows, config_.query_rank, "latents of queries");
    latent_rows_ = halves(allocator, rows, config_.query_rank, "rows of latents of queries");
    latent_squares_ =
        allocator.rows(rows, config_.query_rank / numerics::kSquaresGroup, "squares of these");
  }
  query_ = allocator.rows(rows, heads * (config_.nope_size + config_.rope_size), "queries");
  latents_ = allocator.rows(rows, width, "latents");
  plain_ = halves(allocator, rows, heads * config_.nope_size, "queries that do not turn");
  absorbed_ = halves(allocator, rows, heads * width, "queries in terms of latents");
  sums_ = halves(allocator, rows, heads * config_.kv_rank, "sums of latents");
  values_ = halves(allocator, rows, heads * config_.value_size, "attended");
  partial_ = allocator.rows(std::uint64_t{capacity.split_rows} * capacity.key_segments,
                            heads * (config_.kv_rank + 2), "partial attention");
}

FastRows FastLatent::run(const DevicePass& pass, const Weights& weights, int layer,
                         const FastRows& x) const {
  make_queries(pass, weights, x);
  products_.project(pass, x, weights.kv_down, latents_.as<float>());
  const LatentLayer latents = kv_layers_.of(pass, config_, layer);
  const LayerRope rope = LayerRope::of(pass, model_, layer);
  pass.queue.launch(PrepareLatentsArgs{.counts = pass.counts,
                                       .rows = pass.rows,
                                       .rotary = rope.size > 0 ? rope.table : nullptr,
                                       .norm = weights.kv_norm,
                                       .products = latents_.as<float>(),
                                       .queries = query_.as<float>(),
                                       .plain = plain_.as<void>(),
                                       .plain_type = products_.type(),
                                       .absorbed = absorbed_.as<void>(),
                                       .latents = latents,
                                       .heads = config_.heads,
                                       .nope_size = config_.nope_size,
                                       .eps = config_.latent_norm_eps,
                                       .adjacent = rope.adjacent},
                    pass.all_rows().most);
  multiply_heads(pass, plain_.as<void>(), weights.key_up,
                 {absorbed_.as<void>(), latents.row_size(), numerics::half_type(latents.type)});
  const SpanInput in = input_of(pass, latents);
  const SpanPaths paths =
      span_paths(pass.shape, split_rows_, static_cast<std::uint32_t>(in.kv.group_size), false);
  launch_spans(SpanPass::of(pass), paths, AttendLatentSpansArgs{.in = in}, partial_.as<float>());
  multiply_heads(pass, sums_.as<void>(), weights.value_up,
                 {values_.as<void>(), config_.value_size, products_.type()});
  return {values_.as<void>()};
}

/// To query_.
void FastLatent::make_queries(const DevicePass& pass, const Weights& weights,
                              const FastRows& x) const {
  FastRows from = x;
  if (config_.query_rank > 0) {
    products_.project(pass, x, weights.query_down, query_latent_.as<float>());
    from = {latent_rows_.as<void>(), {latent_squares_.as<float>(), config_.latent_norm_eps}};
    pass.queue.launch(ScaleRowsArgs{.counts = pass.counts,
                                    .logits = nullptr,
                                    .x = query_latent_.as<float>(),
                                    .weight = weights.query_norm,
                                    .h = latent_rows_.as<void>(),
                                    .squares = latent_squares_.as<float>(),
                                    .size = config_.query_rank,
                                    .type = products_.type()},
                      pass.all_rows().most);
  }
  products_.project(pass, from, weights.query_up, query_.as<float>());
}

void FastLatent::multiply_heads(const DevicePass& pass, const void* x,
                                const DeviceMatrices& matrices, const Heads& to) const {
  const RowCount rows = pass.all_rows();
  pass.queue.launch(ProjectHeadsWideArgs{.row_count = rows.on_device,
                                         .rows_max = static_cast<int>(rows.most),
                                         .x = x,
                                         .weights = matrices.sections.front().panels,
                                         .matrix_bytes = matrices.matrix_bytes,
                                         .heads = matrices.count,
                                         .inputs = matrices.inputs,
                                         .outputs = matrices.outputs,
                                         .type = products_.type(),
                                         .y = to.y,
                                         .y_stride = to.stride,
                                         .y_type = to.type});
}

SpanInput FastLatent::input_of(const DevicePass& pass, const LatentLayer& latents) const {
  return {.counts = pass.counts,
          .rows = pass.rows,
          .q = absorbed_.as<void>(),
          .out = sums_.as<void>(),
          .out_type = products_.type(),
          .latent_size = latents.latent_size,
          .kv = keys_of(latents, config_.heads),
          .scale = model_.attention_scale};
}

}  // namespace forge::gpu
