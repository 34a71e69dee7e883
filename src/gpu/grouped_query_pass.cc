#include "grouped_query_pass.h"

#include "attention_path.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

int query_size(const model::GroupedQueryConfig& a) { return a.heads * a.head_size; }
int kv_size(const model::GroupedQueryConfig& a) { return a.kv_heads * a.head_size; }
int qkv_size(const model::GroupedQueryConfig& a) { return query_size(a) + 2 * kv_size(a); }

}  // namespace

GroupedQueryPass::GroupedQueryPass(const model::ModelConfig& model, const Capacity& capacity,
                                   Allocator& allocator)
    : model_(model),
      config_(std::get<model::GroupedQueryConfig>(model.attention)),
      kv_layers_(capacity),
      split_rows_(capacity.split_rows) {
  qkv_ = allocator.rows(capacity.slab_rows, qkv_size(config_), "qkv");
  attended_ = allocator.rows(capacity.slab_rows, query_size(config_), "attended");
  partial_ = allocator.rows(std::uint64_t{capacity.split_rows} * capacity.key_segments,
                            config_.heads * (config_.head_size + 2), "partial attention");
}

void GroupedQueryPass::run(const DevicePass& pass, const DeviceGroupedQuery& weights, int layer,
                           const float* x, const Output& to) const {
  project(pass, pass.all_rows(), x, weights.qkv, {.y = qkv_.as<float>()});
  if (config_.query_key_norm != model::QueryKeyNorm::none) norm(pass, weights);
  attend(pass, weights, layer);
  project(pass, pass.all_rows(), attended_.as<float>(), weights.output, to);
}

/// Of queries and keys where they lie: of each head, or of all heads' row.
void GroupedQueryPass::norm(const DevicePass& pass, const DeviceGroupedQuery& weights) const {
  const bool by_head = config_.query_key_norm == model::QueryKeyNorm::head;
  const auto launch = [&](float* vectors, int heads, const float* weight) {
    pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                  .logits = nullptr,
                                  .x = vectors,
                                  .weight = weight,
                                  .y = vectors,
                                  .size = by_head ? config_.head_size : heads * config_.head_size,
                                  .eps = model_.norm_eps,
                                  .groups = by_head ? heads : 1,
                                  .x_stride = qkv_size(config_),
                                  .y_stride = qkv_size(config_)},
                      pass.all_rows().most);
  };
  auto* const queries = qkv_.as<float>();
  launch(queries, config_.heads, weights.query_norm);
  launch(queries + query_size(config_), config_.kv_heads, weights.key_norm);
}

/// Writes keys and values of all rows, then attends: rows of one sequence see one another.
void GroupedQueryPass::attend(const DevicePass& pass, const DeviceGroupedQuery& weights,
                              int layer) const {
  const KvLayer kv = kv_layers_.of(pass, config_, layer);
  const LayerRope rope = LayerRope::of(pass, model_, layer);
  pass.queue.launch(RotateAndStoreArgs{.counts = pass.counts,
                                       .rows = pass.rows,
                                       .rotary = rope.table,
                                       .rotary_size = rope.size,
                                       .adjacent = rope.adjacent,
                                       .qkv = qkv_.as<float>(),
                                       .kv = kv},
                    pass.all_rows().most);
  const AttentionInput in{.counts = pass.counts,
                          .rows = pass.rows,
                          .qkv = qkv_.as<float>(),
                          .out = attended_.as<float>(),
                          .kv = kv,
                          .scale = model_.attention_scale,
                          .window = window_of(config_, layer),
                          .score_cap = config_.score_cap,
                          .sinks = weights.sinks};
  const PassCounts& covered = pass.shape.counts;
  if (covered.decode_rows > 0 &&
      decode_path(covered.decode_rows, pass.shape.key_segments, split_rows_) == DecodePath::split) {
    const auto segments = static_cast<int>(pass.shape.key_segments);
    auto* partial = partial_.as<float>();
    pass.queue.launch(AttendSplitArgs{.in = in, .partial = partial, .segments_max = segments},
                      covered.decode_rows);
    pass.queue.launch(AttendMergeArgs{.in = in, .partial = partial, .segments_max = segments},
                      covered.decode_rows);
  } else if (covered.decode_rows > 0) {
    pass.queue.launch(AttendDecodeArgs{.in = in}, covered.decode_rows);
  }
  if (covered.prompt_tiles > 0) {
    pass.queue.launch(AttendPromptArgs{.in = in, .tiles = pass.tiles}, covered.prompt_tiles);
  }
}

}  // namespace forge::gpu
