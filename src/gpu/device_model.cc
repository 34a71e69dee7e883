#include "device_model.h"

namespace forge::gpu {
namespace {

std::uint64_t product(std::uint64_t a, int b) { return a * static_cast<std::uint64_t>(b); }

int query_size(const model::GroupedQueryConfig& a) { return a.heads * a.head_size; }
int kv_size(const model::GroupedQueryConfig& a) { return a.kv_heads * a.head_size; }
int qkv_size(const model::GroupedQueryConfig& a) { return query_size(a) + 2 * kv_size(a); }

/// Floats of the intermediate results, by name.
struct ScratchSizes {
  ScratchSizes(const model::ModelConfig& m, const model::GroupedQueryConfig& a, const Capacity& c)
      : hidden(product(c.chunk_rows, m.hidden_size)),
        qkv(product(c.chunk_rows, qkv_size(a))),
        attended(product(c.chunk_rows, query_size(a))),
        partial(
            product(product(std::uint64_t{c.split_rows} * c.key_chunks, a.heads), a.head_size + 2)),
        gate_up(product(c.chunk_rows, 2 * m.ffn_size)),
        logits(product(c.chunk_logits, m.vocabulary_size)) {}

  std::uint64_t hidden;
  std::uint64_t qkv;
  std::uint64_t attended;
  std::uint64_t partial;
  std::uint64_t gate_up;
  std::uint64_t logits;

  std::uint64_t sum() const {
    return 2 * hidden + qkv + attended + partial + gate_up + gate_up / 2 + logits;
  }
};

}  // namespace

ChunkShape ChunkShape::of(const PassChunk& chunk) {
  return {chunk.counts, (chunk.longest_decode + numerics::kKeyChunk - 1) / numerics::kKeyChunk};
}

/// What the functions below share for one chunk.
struct DeviceModel::Pass {
  const PassChunk& chunk;
  const ChunkShape& shape;
  const PassCounts* counts;
  const RowInput* rows;
  const LogitInput* logits;
  const PromptTile* tiles;
  const DeviceStep& step;
  const BlockTables& tables;
  CommandQueue& queue;

  std::uint32_t row_count() const { return shape.counts.rows; }
};

DeviceModel::DeviceModel(const GpuModel& model, const executor::ExecutorOptions& options,
                         const Capacity& capacity, Allocator& allocator, CommandQueue& queue)
    : model_(model.config()),
      heads_(model.attention()),
      draft_layers_(options.draft_layers),
      digest_logits_(options.digest_logits),
      block_size_(static_cast<int>(options.block_size)),
      block_floats_(capacity.block_floats),
      split_rows_(capacity.split_rows),
      weights_(model, capacity.positions, allocator, queue) {
  const ScratchSizes sizes(model_, heads_, capacity);
  const auto take = [&](std::uint64_t floats, const char* name) {
    return allocator.take<float>(MemoryKind::device, floats, name);
  };
  pool_ = take(options.num_blocks * block_floats_, "KV pool");
  host_pool_ = allocator.take<float>(MemoryKind::pinned, options.num_host_blocks * block_floats_,
                                     "KV pool of the host");
  hidden_ = take(sizes.hidden, "hidden");
  normed_ = take(sizes.hidden, "normed");
  qkv_ = take(sizes.qkv, "qkv");
  attended_ = take(sizes.attended, "attended");
  partial_ = take(sizes.partial, "partial attention");
  gate_up_ = take(sizes.gate_up, "gate and up");
  gated_ = take(sizes.gate_up / 2, "gated");
  logits_ = take(sizes.logits, "logits");
}

std::uint64_t DeviceModel::device_bytes(const model::ModelConfig& model,
                                        const executor::ExecutorOptions& options,
                                        const Capacity& capacity) {
  const auto& attention = std::get<model::GroupedQueryConfig>(model.attention);
  const std::uint64_t pool = options.num_blocks * capacity.block_floats;
  return DeviceWeights::device_bytes(model, capacity.positions) +
         sizeof(float) * (pool + ScratchSizes(model, attention, capacity).sum());
}

void DeviceModel::copy_blocks(const CopyRun& run, const DeviceStep& step,
                              CommandQueue& queue) const {
  const CopyBlocksArgs args{
      .pairs = step.pairs + run.first,
      .source = (run.kind == CopyKind::swap_in ? host_pool_ : pool_).as<float>(),
      .target = (run.kind == CopyKind::swap_out ? host_pool_ : pool_).as<float>(),
      .block_floats = block_floats_};
  queue.launch(args, run.count);
}

void DeviceModel::run(const PassChunk& chunk, const ChunkShape& shape, const DeviceStep& step,
                      const BlockTables& tables, CommandQueue& queue) const {
  const Pass pass{.chunk = chunk,
                  .shape = shape,
                  .counts = step.counts + chunk.index,
                  .rows = step.rows + chunk.first_row,
                  .logits = step.logits + chunk.first_logits,
                  .tiles = step.tiles + chunk.first_tile,
                  .step = step,
                  .tables = tables,
                  .queue = queue};
  queue.launch(EmbedArgs{.counts = pass.counts,
                         .rows = pass.rows,
                         .drafts = step.drafts,
                         .embedding = weights_.embedding(),
                         .hidden = hidden_.as<float>(),
                         .hidden_size = model_.hidden_size},
               pass.row_count());
  const int layers = chunk.is_target ? model_.layers : draft_layers_;
  for (int layer = 0; layer < layers; ++layer) {
    attention(pass, layer);
    feed_forward(pass, layer);
  }
  if (shape.counts.logit_rows > 0) head(pass);
}

void DeviceModel::attention(const Pass& pass, int layer) const {
  const DeviceLayer& w = weights_.layer(layer);
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = nullptr,
                                .x = hidden_.as<float>(),
                                .weight = w.attention_norm,
                                .y = normed_.as<float>(),
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps},
                    pass.row_count());
  pass.queue.launch(ProjectArgs{.row_count = &pass.counts->rows,
                                .x = normed_.as<float>(),
                                .panels = w.qkv,
                                .y = qkv_.as<float>(),
                                .inputs = model_.hidden_size,
                                .outputs = qkv_size(heads_),
                                .accumulate = false},
                    pass.row_count());
  attend(pass, layer);
  pass.queue.launch(ProjectArgs{.row_count = &pass.counts->rows,
                                .x = attended_.as<float>(),
                                .panels = w.output,
                                .y = hidden_.as<float>(),
                                .inputs = query_size(heads_),
                                .outputs = model_.hidden_size,
                                .accumulate = true},
                    pass.row_count());
}

/// Writes keys and values of all rows, then attends: rows of one sequence see one another.
void DeviceModel::attend(const Pass& pass, int layer) const {
  const auto plane =
      2 * product(product(static_cast<unsigned>(layer), kv_size(heads_)), block_size_);
  const KvLayer kv{.pool = pool_.as<float>() + plane,
                   .block_stride = block_floats_,
                   .tables = pass.tables.device(),
                   .table_stride = pass.tables.stride(),
                   .block_size = block_size_,
                   .kv_heads = heads_.kv_heads,
                   .group_size = heads_.heads / heads_.kv_heads,
                   .head_size = heads_.head_size};
  pass.queue.launch(RotateAndStoreArgs{.counts = pass.counts,
                                       .rows = pass.rows,
                                       .rotary = weights_.rotary(),
                                       .rotary_size = model_.rope.size,
                                       .adjacent = false,
                                       .qkv = qkv_.as<float>(),
                                       .kv = kv},
                    pass.row_count());
  const AttentionInput in{.counts = pass.counts,
                          .rows = pass.rows,
                          .qkv = qkv_.as<float>(),
                          .out = attended_.as<float>(),
                          .kv = kv,
                          .scale = model_.attention_scale};
  const PassCounts& covered = pass.shape.counts;
  if (covered.decode_rows > 0 &&
      decode_path(covered.decode_rows, pass.shape.key_chunks, split_rows_) == DecodePath::split) {
    const auto chunks = static_cast<int>(pass.shape.key_chunks);
    auto* partial = partial_.as<float>();
    pass.queue.launch(AttendSplitArgs{.in = in, .partial = partial, .chunks_max = chunks},
                      covered.decode_rows);
    pass.queue.launch(AttendMergeArgs{.in = in, .partial = partial, .chunks_max = chunks},
                      covered.decode_rows);
  } else if (covered.decode_rows > 0) {
    pass.queue.launch(AttendDecodeArgs{.in = in}, covered.decode_rows);
  }
  if (covered.prompt_tiles > 0) {
    pass.queue.launch(AttendPromptArgs{.in = in, .tiles = pass.tiles}, covered.prompt_tiles);
  }
}

void DeviceModel::feed_forward(const Pass& pass, int layer) const {
  const DeviceLayer& w = weights_.layer(layer);
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = nullptr,
                                .x = hidden_.as<float>(),
                                .weight = w.ffn_norm,
                                .y = normed_.as<float>(),
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps},
                    pass.row_count());
  pass.queue.launch(ProjectArgs{.row_count = &pass.counts->rows,
                                .x = normed_.as<float>(),
                                .panels = w.gate_up,
                                .y = gate_up_.as<float>(),
                                .inputs = model_.hidden_size,
                                .outputs = 2 * model_.ffn_size,
                                .accumulate = false},
                    pass.row_count());
  pass.queue.launch(SiluMultiplyArgs{.counts = pass.counts,
                                     .gate_up = gate_up_.as<float>(),
                                     .gated = gated_.as<float>(),
                                     .size = model_.ffn_size},
                    pass.row_count());
  pass.queue.launch(ProjectArgs{.row_count = &pass.counts->rows,
                                .x = gated_.as<float>(),
                                .panels = w.down,
                                .y = hidden_.as<float>(),
                                .inputs = model_.ffn_size,
                                .outputs = model_.hidden_size,
                                .accumulate = true},
                    pass.row_count());
}

void DeviceModel::head(const Pass& pass) const {
  const std::uint32_t count = pass.shape.counts.logit_rows;
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = pass.logits,
                                .x = hidden_.as<float>(),
                                .weight = weights_.final_norm(),
                                .y = normed_.as<float>(),
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps},
                    count);
  pass.queue.launch(ProjectArgs{.row_count = &pass.counts->logit_rows,
                                .x = normed_.as<float>(),
                                .panels = weights_.head(),
                                .y = logits_.as<float>(),
                                .inputs = model_.hidden_size,
                                .outputs = model_.vocabulary_size,
                                .accumulate = false},
                    count);
  pass.queue.launch(SampleArgs{.counts = pass.counts,
                               .inputs = pass.logits,
                               .logits = logits_.as<float>(),
                               .picks = pass.step.picks,
                               .drafts = pass.step.drafts,
                               .vocabulary = model_.vocabulary_size},
                    count);
  if (!digest_logits_ || !pass.chunk.is_target) return;
  pass.queue.launch(DigestLogitsArgs{.counts = pass.counts,
                                     .inputs = pass.logits,
                                     .logits = logits_.as<float>(),
                                     .digests = pass.step.digests,
                                     .vocabulary = model_.vocabulary_size},
                    count);
}

}  // namespace forge::gpu
