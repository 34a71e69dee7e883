#include "device_model.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

/// Floats of [rows][d].
std::uint64_t hidden_floats(const model::ModelConfig& model, const Capacity& capacity) {
  return std::uint64_t{capacity.slab_rows} * static_cast<std::uint64_t>(model.hidden_size);
}

std::uint64_t logits_floats(const model::ModelConfig& model, const Capacity& capacity) {
  return std::uint64_t{capacity.slab_logits} * static_cast<std::uint64_t>(model.vocabulary_size);
}

std::variant<GroupedQueryPass, LatentPass> attention_of(const model::ModelConfig& model,
                                                        const Capacity& capacity,
                                                        Allocator& allocator) {
  if (std::holds_alternative<model::LatentConfig>(model.attention)) {
    return LatentPass(model, capacity, allocator);
  }
  return GroupedQueryPass(model, capacity, allocator);
}

std::uint64_t attention_bytes(const model::ModelConfig& model, const Capacity& capacity) {
  return std::holds_alternative<model::LatentConfig>(model.attention)
             ? LatentPass::device_bytes(model, capacity)
             : GroupedQueryPass::device_bytes(model, capacity);
}

Buffer take(Allocator& allocator, std::uint64_t floats, const char* name) {
  return allocator.take<float>(MemoryKind::device, floats, name);
}

}  // namespace

DeviceModel::DeviceModel(const GpuModel& model, const executor::ExecutorOptions& options,
                         const Capacity& capacity, Allocator& allocator, CommandQueue& queue)
    : model_(model.config()),
      digest_logits_(options.digest_logits),
      block_floats_(capacity.block_floats),
      weights_(model, capacity.positions, allocator, queue),
      pool_(take(allocator, options.cache.num_blocks * block_floats_, "KV pool")),
      host_pool_(allocator.take<float>(MemoryKind::pinned,
                                       options.cache.num_host_blocks * block_floats_,
                                       "KV pool of the host")),
      hidden_(take(allocator, hidden_floats(model_, capacity), "hidden")),
      normed_(take(allocator, hidden_floats(model_, capacity), "normed")),
      attention_(attention_of(model_, capacity, allocator)),
      mlp_(model_.ffn_size, capacity, allocator),
      logits_(take(allocator, logits_floats(model_, capacity), "logits")) {
  if (model_.experts) experts_.emplace(model_, capacity, allocator);
}

std::uint64_t DeviceModel::buffer_bytes(const model::ModelConfig& model,
                                        const executor::ExecutorOptions& options,
                                        const Capacity& capacity) {
  const std::uint64_t pool = options.cache.num_blocks * capacity.block_floats;
  return sizeof(float) *
             (pool + 2 * hidden_floats(model, capacity) + logits_floats(model, capacity)) +
         DeviceWeights::rotary_bytes(model, capacity.positions) + attention_bytes(model, capacity) +
         MlpPass::device_bytes(model.ffn_size, capacity) +
         (model.experts ? ExpertsPass::device_bytes(model, capacity) : 0);
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

void DeviceModel::run(const Slab& slab, const SlabShape& shape, const DeviceStep& step,
                      const BlockTables& tables, CommandQueue& queue) const {
  const DevicePass pass{.shape = shape,
                        .counts = step.counts + slab.index,
                        .rows = step.rows + slab.first_row,
                        .logits = step.logits + slab.first_logits,
                        .tiles = step.tiles + slab.first_tile,
                        .step = step,
                        .tables = tables,
                        .pool = pool_.as<float>(),
                        .rotary = weights_.rotary(),
                        .queue = queue};
  embed(pass);
  const int layers = slab.pass.layers.value_or(model_.layers);
  for (int layer = 0; layer < layers; ++layer) run_layer(pass, layer);
  if (shape.counts.logit_rows > 0) head(pass, slab.pass.proposes);
}

void DeviceModel::embed(const DevicePass& pass) const {
  pass.queue.launch(EmbedArgs{.counts = pass.counts,
                              .rows = pass.rows,
                              .drafts = pass.step.drafts,
                              .embedding = weights_.embedding(),
                              .hidden = hidden_.as<float>(),
                              .hidden_size = model_.hidden_size,
                              .multiplier = model_.embedding_multiplier,
                              .kind = weights_.embedding_kind()},
                    pass.all_rows().most);
}

template <class Body>
void DeviceModel::run_sub_layer(const DevicePass& pass, const float* norm, const Body& body) const {
  auto* const hidden = hidden_.as<float>();
  auto* const normed = normed_.as<float>();
  RmsNormArgs args{.counts = pass.counts,
                   .logits = nullptr,
                   .x = hidden,
                   .weight = norm,
                   .y = normed,
                   .size = model_.hidden_size,
                   .eps = model_.norm_eps};
  if (model_.norm == model::NormPlacement::before) {
    pass.queue.launch(args, pass.all_rows().most);
    body(normed, {.y = hidden, .accumulate = true, .multiplier = model_.residual_multiplier});
    return;
  }
  body(hidden, {.y = normed});
  args.x = normed;
  args.y = hidden;
  args.multiplier = model_.residual_multiplier;
  args.accumulate = true;
  pass.queue.launch(args, pass.all_rows().most);
}

void DeviceModel::run_layer(const DevicePass& pass, int layer) const {
  const DeviceLayer& w = weights_.layer(layer);
  run_sub_layer(pass, w.attention_norm, [&](const float* x, const Output& to) {
    if (const auto* latent = std::get_if<DeviceLatent>(&w.attention)) {
      std::get<LatentPass>(attention_).run(pass, *latent, layer, x, to);
    } else {
      std::get<GroupedQueryPass>(attention_)
          .run(pass, std::get<DeviceGroupedQuery>(w.attention), layer, x, to);
    }
  });
  run_sub_layer(pass, w.mlp_norm, [&](const float* x, const Output& to) {
    if (const auto* experts = std::get_if<DeviceExperts>(&w.mlp)) {
      experts_->run(pass, *experts, x, to);
    } else {
      mlp_.run(pass, std::get<DeviceMlp>(w.mlp), x, to);
    }
  });
}

void DeviceModel::head(const DevicePass& pass, bool proposes) const {
  const RowCount rows = pass.rows_with_logits();
  auto* const logits = logits_.as<float>();
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = pass.logits,
                                .x = hidden_.as<float>(),
                                .weight = weights_.final_norm(),
                                .y = normed_.as<float>(),
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps},
                    rows.most);
  project(pass, rows, normed_.as<float>(), weights_.head(),
          {.y = logits, .multiplier = 1 / model_.logits_divisor});
  pass.queue.launch(SampleArgs{.counts = pass.counts,
                               .inputs = pass.logits,
                               .logits = logits,
                               .picks = pass.step.picks,
                               .drafts = pass.step.drafts,
                               .vocabulary = model_.vocabulary_size},
                    rows.most);
  if (!digest_logits_ || proposes) return;
  pass.queue.launch(DigestLogitsArgs{.counts = pass.counts,
                                     .inputs = pass.logits,
                                     .logits = logits,
                                     .digests = pass.step.digests,
                                     .vocabulary = model_.vocabulary_size},
                    rows.most);
}

}  // namespace forge::gpu
