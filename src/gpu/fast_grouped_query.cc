#include "fast_grouped_query.h"

#include "attention_path.h"
#include "forge/gpu/kernels.h"
#include "span_launches.h"

namespace forge::gpu {
namespace {

int query_size(const model::GroupedQueryConfig& a) { return a.heads * a.head_size; }

/// Tiles of keys that blocks of attend_spans find room for.
int stages_of(int head_size, const Capacity& capacity) {
  const int bytes = span_bytes(AttendSpansArgs::pairs(), head_size, false, kSpanStagesMax);
  return has_room(AttendSpansArgs::kResources, bytes, capacity.shared_bytes) ? kSpanStagesMax
                                                                             : kSpanStages;
}

int wide_span_bytes(int head_size) {
  AttendWideArgs args{};
  args.in.kv.head_size = head_size;
  return span_bytes(args.pairs(), head_size);
}

HeadNorms head_norms(const model::ModelConfig& model, const model::GroupedQueryConfig& attention,
                     const DeviceGroupedQuery& weights) {
  if (attention.query_key_norm == model::QueryKeyNorm::none) return {};
  return {.query = weights.query_norm,
          .key = weights.key_norm,
          .of_all_heads = attention.query_key_norm == model::QueryKeyNorm::row,
          .eps = model.norm_eps};
}

}  // namespace

FastGroupedQuery::FastGroupedQuery(const model::ModelConfig& model, numerics::HalfType type,
                                   const Capacity& capacity, Allocator& allocator)
    : model_(model),
      config_(std::get<model::GroupedQueryConfig>(model.attention)),
      kv_layers_(capacity),
      split_rows_(capacity.split_rows),
      has_wide_(has_room(AttendWideArgs::kResources, wide_span_bytes(config_.head_size),
                         capacity.shared_bytes)),
      stages_(stages_of(config_.head_size, capacity)),
      products_(type, capacity) {
  const std::uint64_t rows = capacity.slab_rows;
  const int kv_size = config_.kv_heads * config_.head_size;
  qkv_ = allocator.rows(rows, query_size(config_) + 2 * kv_size, "qkv");
  queries_ = halves(allocator, rows, query_size(config_), "queries");
  attended_ = halves(allocator, rows, query_size(config_), "attended");
  partial_ = allocator.rows(std::uint64_t{capacity.split_rows} * capacity.key_segments,
                            config_.heads * (config_.head_size + 2), "partial attention");
}

FastRows FastGroupedQuery::run(const DevicePass& pass, const Weights& weights, int layer,
                               const FastRows& x) const {
  products_.project(pass, x, weights.qkv, qkv_.as<float>());
  const KvLayer kv = kv_layers_.of(pass, config_, layer);
  const LayerRope rope = LayerRope::of(pass, model_, layer);
  pass.queue.launch(PrepareHeadsArgs{.counts = pass.counts,
                                     .rows = pass.rows,
                                     .rotary = rope.table,
                                     .rotary_size = rope.size,
                                     .adjacent = rope.adjacent,
                                     .qkv = qkv_.as<float>(),
                                     .q = queries_.as<void>(),
                                     .kv = kv,
                                     .norms = head_norms(model_, config_, weights)},
                    pass.all_rows().most);
  attend(pass, {.counts = pass.counts,
                .rows = pass.rows,
                .q = queries_.as<void>(),
                .out = attended_.as<void>(),
                .out_type = products_.type(),
                .kv = kv,
                .scale = model_.attention_scale,
                .window = window_of(config_, layer),
                .score_cap = config_.score_cap,
                .sinks = weights.sinks});
  return {attended_.as<void>()};
}

void FastGroupedQuery::attend(const DevicePass& pass, const SpanInput& in) const {
  const SpanPaths paths =
      span_paths(pass.shape, split_rows_, static_cast<std::uint32_t>(in.kv.group_size), has_wide_);
  launch_grouped_spans(SpanPass::of(pass), paths, {.in = in, .stages = stages_},
                       partial_.as<float>());
}

}  // namespace forge::gpu
