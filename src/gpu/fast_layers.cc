#include "fast_layers.h"

#include "attention_path.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;

Buffer halves(Allocator& allocator, std::uint64_t rows, int width, const char* name) {
  return allocator.take<std::uint16_t>(MemoryKind::device, rows * static_cast<std::uint64_t>(width),
                                       name);
}

int query_size(const model::GroupedQueryConfig& a) { return a.heads * a.head_size; }

/// Of a matrix in rows, which is one section.
HalfType type_of(const DeviceMatrix& matrix) {
  return matrix.sections.front().kind == linear::PanelKind::f16_rows ? HalfType::f16
                                                                     : HalfType::bf16;
}

/// The product of rows with a matrix. What becomes of it is the caller's.
template <class Input>
TensorProduct product(const RowCount& rows, const Input& input, const DeviceMatrix& matrix) {
  return {.row_count = rows.on_device,
          .rows_max = static_cast<int>(rows.most),
          .x = input.h,
          .weights = matrix.sections.front().panels,
          .inputs = matrix.inputs,
          .outputs = matrix.outputs,
          .type = type_of(matrix),
          .norm = input.norm,
          .bias = matrix.bias};
}

/// Of a sub-layer: of what it reads, and of what it adds; null where there is none.
struct SubLayerNorms {
  const float* before;
  const float* after;
};
SubLayerNorms norms_of(model::NormPlacement placement, const float* first, const float* second) {
  if (placement == model::NormPlacement::after) return {nullptr, first};
  return {first, second};
}

/// Whether a thread block finds room, beside what its kernel declares.
bool has_room(const Capacity& capacity, const BlockResources& resources, int dynamic_bytes) {
  return static_cast<std::uint64_t>(resources.shared_bytes + dynamic_bytes) <=
         capacity.shared_bytes;
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

FastLayers::FastLayers(const model::ModelConfig& model, const Capacity& capacity,
                       Allocator& allocator)
    : model_(model),
      attention_(std::get<model::GroupedQueryConfig>(model.attention)),
      kv_layers_(capacity),
      split_rows_(capacity.split_rows),
      has_wide_products_(
          has_room(capacity, ProjectWideArgs::kResources, ProjectWideArgs{}.shape().shared_bytes)),
      has_wide_attention_(
          has_room(capacity, AttendWideArgs::kResources, wide_span_bytes(attention_.head_size))) {
  const std::uint64_t rows = capacity.slab_rows;
  const int d = model.hidden_size;
  const int kv_size = attention_.kv_heads * attention_.head_size;
  rows_ = halves(allocator, rows, d, "rows that products read");
  squares_ = allocator.rows(rows, d / numerics::kSquaresGroup, "squares of rows");
  qkv_ = allocator.rows(rows, query_size(attention_) + 2 * kv_size, "qkv");
  queries_ = halves(allocator, rows, query_size(attention_), "queries");
  attended_ = halves(allocator, rows, query_size(attention_), "attended");
  gated_ = halves(allocator, rows, model.ffn_size, "gated");
  if (model.norm != model::NormPlacement::before) added_ = allocator.rows(rows, d, "added");
  partial_ = allocator.rows(std::uint64_t{capacity.split_rows} * capacity.key_segments,
                            attention_.heads * (attention_.head_size + 2), "partial attention");
}

void FastLayers::run(const DevicePass& pass, const DeviceWeights& weights, float* hidden,
                     int count) const {
  const HalfType type = type_of(weights.head());
  const auto norms_of_attention = [&](int layer) {
    const DeviceLayer& w = weights.layer(layer);
    return norms_of(model_.norm, w.attention_norm, w.attention_post_norm);
  };
  scale_rows(pass, {hidden, nullptr, norms_of_attention(0).before, true, type});
  for (int layer = 0; layer < count; ++layer) {
    const DeviceLayer& w = weights.layer(layer);
    const auto& attention = std::get<DeviceGroupedQuery>(w.attention);
    const SubLayerNorms of_mlp = norms_of(model_.norm, w.mlp_norm, w.mlp_post_norm);
    attend(pass, attention, layer);
    add(pass, attended_.as<void>(), attention.output,
        {hidden, norms_of_attention(layer).after, of_mlp.before, true, type});
    const auto& mlp = std::get<DeviceMlp>(w.mlp);
    TensorProduct gate_up = product(pass.all_rows(), scaled_rows(), mlp.gate_up);
    gate_up.gated = {.h = gated_.as<void>(), .function = mlp.glu};
    multiply(pass, gate_up);
    const bool is_read = layer + 1 < count;
    add(pass, gated_.as<void>(), mlp.down,
        {hidden, of_mlp.after, is_read ? norms_of_attention(layer + 1).before : nullptr, is_read,
         type});
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
                                  .type = type_of(weights.head())},
                    rows.most);
  const Input input{rows_.as<void>(), {squares_.as<float>(), model_.norm_eps}};
  TensorProduct head = product(rows, input, weights.head());
  head.multiplier = 1 / model_.logits_divisor;
  head.cap = model_.logits_cap;
  head.y = to.logits;
  head.candidates = to.candidates;
  multiply(pass, head);
}

/// By the kernel that is made for so many rows, where its blocks find room. The bits are the same.
void FastLayers::multiply(const DevicePass& pass, const TensorProduct& product) const {
  if (product.rows_max <= kNarrowRowsMax || !has_wide_products_) {
    pass.queue.launch(ProjectNarrowArgs{product});
  } else {
    pass.queue.launch(ProjectWideArgs{product});
  }
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
                                  .type = residual.type},
                    pass.all_rows().most);
}

FastLayers::Input FastLayers::scaled_rows() const {
  const bool has_norm = model_.norm != model::NormPlacement::after;
  return {rows_.as<void>(), {has_norm ? squares_.as<float>() : nullptr, model_.norm_eps}};
}

/// To attended_.
void FastLayers::attend(const DevicePass& pass, const DeviceGroupedQuery& weights,
                        int layer) const {
  TensorProduct qkv = product(pass.all_rows(), scaled_rows(), weights.qkv);
  qkv.y = qkv_.as<float>();
  multiply(pass, qkv);
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
                          .out_type = type_of(weights.output),
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

/// hidden += m h W^T, and what the next sub-layer reads of it.
void FastLayers::add(const DevicePass& pass, const void* h, const DeviceMatrix& matrix,
                     const Residual& residual) const {
  const RowCount rows = pass.all_rows();
  TensorProduct sum = product(rows, Input{h}, matrix);
  if (model_.norm == model::NormPlacement::before) {
    sum.y = residual.hidden;
    sum.accumulate = true;
    sum.multiplier = model_.residual_multiplier;
    if (residual.is_read) {
      sum.next = {
          .h = rows_.as<void>(), .weight = residual.next_norm, .squares = squares_.as<float>()};
    }
    multiply(pass, sum);
    return;
  }
  sum.y = added_.as<float>();
  multiply(pass, sum);
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = nullptr,
                                .x = added_.as<float>(),
                                .weight = residual.post_norm,
                                .y = residual.hidden,
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps,
                                .multiplier = model_.residual_multiplier,
                                .accumulate = true},
                    rows.most);
  if (residual.is_read) scale_rows(pass, residual);
}

}  // namespace forge::gpu
