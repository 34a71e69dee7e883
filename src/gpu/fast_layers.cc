#include "fast_layers.h"

#include "attention_path.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

int query_size(const model::GroupedQueryConfig& a) { return a.heads * a.head_size; }

/// Of a sub-layer: of what it reads, and of what it adds; null where there is none.
struct SubLayerNorms {
  const float* before;
  const float* after;
};
SubLayerNorms norms_of(model::NormPlacement placement, const float* first, const float* second) {
  if (placement == model::NormPlacement::after) return {nullptr, first};
  return {first, second};
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

FastLayers::FastLayers(const model::ModelConfig& model, numerics::HalfType type,
                       const Capacity& capacity, Allocator& allocator)
    : model_(model),
      attention_(std::get<model::GroupedQueryConfig>(model.attention)),
      kv_layers_(capacity),
      split_rows_(capacity.split_rows),
      has_wide_attention_(
          has_room(AttendWideArgs::kResources, wide_span_bytes(attention_.head_size), capacity)),
      products_(type, capacity) {
  const std::uint64_t rows = capacity.slab_rows;
  const int d = model.hidden_size;
  const int kv_size = attention_.kv_heads * attention_.head_size;
  rows_ = halves(allocator, rows, d, "rows that products read");
  squares_ = allocator.rows(rows, d / numerics::kSquaresGroup, "squares of rows");
  qkv_ = allocator.rows(rows, query_size(attention_) + 2 * kv_size, "qkv");
  queries_ = halves(allocator, rows, query_size(attention_), "queries");
  attended_ = halves(allocator, rows, query_size(attention_), "attended");
  gated_ = halves(allocator, rows, model.ffn_size, "gated");
  if (model.experts) experts_.emplace(model, type, capacity, allocator);
  if (model.norm != model::NormPlacement::before) added_ = allocator.rows(rows, d, "added");
  partial_ = allocator.rows(std::uint64_t{capacity.split_rows} * capacity.key_segments,
                            attention_.heads * (attention_.head_size + 2), "partial attention");
}

void FastLayers::run(const DevicePass& pass, const DeviceWeights& weights, float* hidden,
                     int count) const {
  const auto norms_of_attention = [&](int layer) {
    const DeviceLayer& w = weights.layer(layer);
    return norms_of(model_.norm, w.attention_norm, w.attention_post_norm);
  };
  scale_rows(pass, {hidden, nullptr, norms_of_attention(0).before, true});
  for (int layer = 0; layer < count; ++layer) {
    const DeviceLayer& w = weights.layer(layer);
    const auto& attention = std::get<DeviceGroupedQuery>(w.attention);
    const SubLayerNorms of_mlp = norms_of(model_.norm, w.mlp_norm, w.mlp_post_norm);
    attend(pass, attention, layer);
    add(pass, attended_.as<void>(), attention.output,
        {hidden, norms_of_attention(layer).after, of_mlp.before, true});
    const bool is_read = layer + 1 < count;
    const Residual of_layer{hidden, of_mlp.after,
                            is_read ? norms_of_attention(layer + 1).before : nullptr, is_read};
    std::visit([&](const auto& mlp) { run_mlp(pass, mlp, of_layer); }, w.mlp);
  }
}

void FastLayers::make_logits(const DevicePass& pass, const DeviceWeights& weights,
                             const float* hidden, const HeadResults& to) const {
  const RowCount rows = pass.rows_with_logits();
  pass.queue.launch(ScaleRowsArgs{.counts = pass.counts,
                                  .logits = pass.logits,
                                  .x = hidden,
                                  .weight = weights.final_norm(),
                                  .h = rows_.as<void>(),
                                  .squares = squares_.as<float>(),
                                  .size = model_.hidden_size,
                                  .type = products_.type()},
                    rows.most);
  const FastRows input{rows_.as<void>(), {squares_.as<float>(), model_.norm_eps}};
  TensorProduct head = products_.of(rows, input, weights.head());
  head.multiplier = 1 / model_.logits_divisor;
  head.cap = model_.logits_cap;
  head.y = to.logits;
  head.candidates = to.candidates;
  products_.multiply(pass, head, weights.head());
}

/// For the first sub-layer, and for all of them where norms do not come before alone.
void FastLayers::scale_rows(const DevicePass& pass, const Residual& residual) const {
  const float* const weight = residual.next_norm;
  pass.queue.launch(ScaleRowsArgs{.counts = pass.counts,
                                  .logits = nullptr,
                                  .x = residual.hidden,
                                  .weight = weight,
                                  .h = rows_.as<void>(),
                                  .squares = weight == nullptr ? nullptr : squares_.as<float>(),
                                  .size = model_.hidden_size,
                                  .type = products_.type()},
                    pass.all_rows().most);
}

FastRows FastLayers::scaled_rows() const {
  const bool has_norm = model_.norm != model::NormPlacement::after;
  return {rows_.as<void>(), {has_norm ? squares_.as<float>() : nullptr, model_.norm_eps}};
}

/// To attended_.
void FastLayers::attend(const DevicePass& pass, const DeviceGroupedQuery& weights,
                        int layer) const {
  TensorProduct qkv = products_.of(pass.all_rows(), scaled_rows(), weights.qkv);
  qkv.y = qkv_.as<float>();
  products_.multiply(pass, qkv, weights.qkv);
  const KvLayer kv = kv_layers_.of(pass, attention_, layer);
  const LayerRope rope = LayerRope::of(pass, model_, layer);
  pass.queue.launch(PrepareHeadsArgs{.counts = pass.counts,
                                     .rows = pass.rows,
                                     .rotary = rope.table,
                                     .rotary_size = rope.size,
                                     .adjacent = rope.adjacent,
                                     .qkv = qkv_.as<float>(),
                                     .q = queries_.as<void>(),
                                     .kv = kv,
                                     .norms = head_norms(model_, attention_, weights)},
                    pass.all_rows().most);
  launch_attention(pass, {.counts = pass.counts,
                          .rows = pass.rows,
                          .q = queries_.as<void>(),
                          .out = attended_.as<void>(),
                          .out_type = products_.type(),
                          .kv = kv,
                          .scale = model_.attention_scale,
                          .window = window_of(attention_, layer),
                          .score_cap = attention_.score_cap,
                          .sinks = weights.sinks});
}

void FastLayers::launch_attention(const DevicePass& pass, const SpanInput& in) const {
  const PassCounts& covered = pass.shape.counts;
  const SpanPaths paths = span_paths(
      pass.shape, split_rows_, static_cast<std::uint32_t>(in.kv.group_size), has_wide_attention_);
  const AttendSpansArgs whole{.in = in};
  const AttendSpansArgs split{
      .in = in, .partial = partial_.as<float>(), .spans_max = static_cast<int>(paths.spans)};
  if (covered.decode_rows > 0) {
    pass.queue.launch(paths.decodes == DecodePath::split ? split : whole, covered.decode_rows);
  }
  if (covered.prompt_tiles > 0) {
    const SpanTiles tiles{pass.tiles, static_cast<int>(pass.shape.tile_rows)};
    if (paths.tiles == TilePath::wide) {
      pass.queue.launch(AttendWideArgs{.in = in, .tiles = tiles}, covered.prompt_tiles);
    } else {
      AttendSpansArgs args = paths.tiles == TilePath::split ? split : whole;
      args.tiles = tiles;
      pass.queue.launch(args, covered.prompt_tiles);
    }
  }
  if (paths.decodes == DecodePath::whole) return;
  const RowCount rows = paths.tiles == TilePath::split ? pass.all_rows() : pass.decode_rows();
  pass.queue.launch(MergeSpansArgs{.in = in,
                                   .row_count = rows.on_device,
                                   .partial = split.partial,
                                   .spans_max = split.spans_max},
                    rows.most);
}

void FastLayers::run_mlp(const DevicePass& pass, const DeviceMlp& weights,
                         const Residual& residual) const {
  TensorProduct gate_up = products_.of(pass.all_rows(), scaled_rows(), weights.gate_up);
  gate_up.gated = {.h = gated_.as<void>(), .function = weights.glu};
  products_.multiply(pass, gate_up, weights.gate_up);
  add(pass, gated_.as<void>(), weights.down, residual);
}

void FastLayers::run_mlp(const DevicePass& pass, const DeviceExperts& weights,
                         const Residual& residual) const {
  experts_->run(pass, weights, scaled_rows(), sum_of(residual), next_rows(residual));
  add_normed(pass, residual);
}

/// hidden += m h W^T, and what the next sub-layer reads of it.
void FastLayers::add(const DevicePass& pass, const void* h, const DeviceMatrix& matrix,
                     const Residual& residual) const {
  const Output to = sum_of(residual);
  TensorProduct sum = products_.of(pass.all_rows(), FastRows{h}, matrix);
  sum.y = to.y;
  sum.accumulate = to.accumulate;
  sum.multiplier = to.multiplier;
  sum.next = next_rows(residual);
  products_.multiply(pass, sum, matrix);
  add_normed(pass, residual);
}

/// Where a sub-layer adds, or leaves what add_normed adds.
Output FastLayers::sum_of(const Residual& residual) const {
  if (model_.norm != model::NormPlacement::before) return {.y = added_.as<float>()};
  return {.y = residual.hidden, .accumulate = true, .multiplier = model_.residual_multiplier};
}

/// What whoever adds leaves for the next sub-layer. Where a norm comes after, nothing.
NextRows FastLayers::next_rows(const Residual& residual) const {
  if (model_.norm != model::NormPlacement::before || !residual.is_read) return {};
  return {.h = rows_.as<void>(), .weight = residual.next_norm, .squares = squares_.as<float>()};
}

/// Where a norm comes after a sub-layer: the sum, and what the next one reads of it.
void FastLayers::add_normed(const DevicePass& pass, const Residual& residual) const {
  if (model_.norm == model::NormPlacement::before) return;
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = nullptr,
                                .x = added_.as<float>(),
                                .weight = residual.post_norm,
                                .y = residual.hidden,
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps,
                                .multiplier = model_.residual_multiplier,
                                .accumulate = true},
                    pass.all_rows().most);
  if (residual.is_read) scale_rows(pass, residual);
}

}  // namespace forge::gpu
