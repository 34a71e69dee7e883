#include "device_model.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

std::variant<GroupedQueryPass, LatentPass> attention_of(const model::ModelConfig& model,
                                                        const Capacity& capacity,
                                                        Allocator& allocator) {
  if (std::holds_alternative<model::LatentConfig>(model.attention)) {
    return LatentPass(model, capacity, allocator);
  }
  return GroupedQueryPass(model, capacity, allocator);
}

void upload(model::RotaryTable& table, const Buffer& to, std::uint32_t positions,
            CommandQueue& queue) {
  table.ensure(positions);
  queue.copy(to.as<float>(), table.cos(0), to.bytes(), CopyDirection::to_device);
}

}  // namespace

ModelBuffers::ModelBuffers(const model::ModelConfig& model,
                           const executor::ExecutorOptions& options, const Capacity& capacity,
                           Allocator& allocator)
    : rotary(allocator.rows(capacity.positions, model.rope.size, "rotary table")),
      pool(allocator.take<std::byte>(MemoryKind::device,
                                     options.cache.num_blocks * capacity.block_bytes(), "KV pool")),
      host_pool(allocator.take<std::byte>(MemoryKind::pinned,
                                          options.cache.num_host_blocks * capacity.block_bytes(),
                                          "KV pool of the host")),
      hidden(allocator.rows(capacity.slab_rows, model.hidden_size, "hidden")),
      normed(allocator.rows(capacity.slab_rows, model.hidden_size, "normed")),
      attention(attention_of(model, capacity, allocator)),
      mlp(model.ffn_size, capacity, allocator),
      logits(allocator.rows(capacity.slab_logits, model.vocabulary_size, "logits")) {
  if (model.experts) experts.emplace(model, capacity, allocator);
  if (model.window_rope) {
    window_rotary =
        allocator.rows(capacity.positions, model.rope.size, "rotary table of layers with a window");
  }
}

MemoryBytes kv_bytes(const executor::ExecutorOptions& options, const Capacity& capacity) {
  return {.device = options.cache.num_blocks * capacity.block_bytes(),
          .pinned = options.cache.num_host_blocks * capacity.block_bytes()};
}

DeviceModel::DeviceModel(const GpuModel& model, const executor::ExecutorOptions& options,
                         const Capacity& capacity, Allocator& allocator, CommandQueue& queue)
    : model_(model.config()),
      digest_logits_(options.digest_logits),
      block_bytes_(capacity.block_bytes()),
      host_rotary_(std::make_unique<model::RotaryTable>(model_.rope)),
      host_window_rotary_(
          model_.window_rope ? std::make_unique<model::RotaryTable>(*model_.window_rope) : nullptr),
      weights_(model, capacity.slab_rows, allocator, &queue),
      buffers_(model_, options, capacity, allocator) {
  if (!allocator.status()) return;
  upload(*host_rotary_, buffers_.rotary, capacity.positions, queue);
  if (host_window_rotary_) {
    upload(*host_window_rotary_, buffers_.window_rotary, capacity.positions, queue);
  }
  queue.synchronize();
  if (!queue.status()) return;
  host_rotary_.reset();
  host_window_rotary_.reset();
}

void DeviceModel::copy_blocks(const CopyRun& run, const DeviceStep& step,
                              CommandQueue& queue) const {
  const CopyBlocksArgs args{
      .pairs = step.pairs + run.first,
      .source =
          (run.kind == CopyKind::swap_in ? buffers_.host_pool : buffers_.pool).as<std::byte>(),
      .target =
          (run.kind == CopyKind::swap_out ? buffers_.host_pool : buffers_.pool).as<std::byte>(),
      .block_bytes = block_bytes_};
  queue.launch(args, run.count);
}

void DeviceModel::run(const Slab& slab, const SlabShape& shape, const DeviceStep& step,
                      const BlockTables& tables, CommandQueue& queue) const {
  const DevicePass pass{.shape = shape,
                        .counts = step.counts + slab.index,
                        .rows = step.rows + slab.first_row,
                        .logits = step.logits + slab.first_logits,
                        .processing = step.processing + slab.first_logits,
                        .tiles = step.tiles + slab.first_tile,
                        .step = step,
                        .tables = tables,
                        .pool = buffers_.pool.as<std::byte>(),
                        .rotary = buffers_.rotary.as<float>(),
                        .window_rotary = buffers_.window_rotary.as<float>(),
                        .coded_rows = weights_.coded_rows(),
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
                              .hidden = buffers_.hidden.as<float>(),
                              .hidden_size = model_.hidden_size,
                              .multiplier = model_.embedding_multiplier,
                              .kind = weights_.embedding_kind()},
                    pass.all_rows().most);
}

/// Where norms are around, the body writes to what it has read: only its last launch writes, and by
/// then nothing reads it any more.
template <class Body>
void DeviceModel::run_sub_layer(const DevicePass& pass, const Norms& norms,
                                const Body& body) const {
  auto* const hidden = buffers_.hidden.as<float>();
  auto* const normed = buffers_.normed.as<float>();
  RmsNormArgs args{.counts = pass.counts,
                   .logits = nullptr,
                   .x = hidden,
                   .weight = norms.first,
                   .y = normed,
                   .size = model_.hidden_size,
                   .eps = model_.norm_eps};
  if (model_.norm == model::NormPlacement::before) {
    pass.queue.launch(args, pass.all_rows().most);
    body(normed, {.y = hidden, .accumulate = true, .multiplier = model_.residual_multiplier});
    return;
  }
  if (model_.norm == model::NormPlacement::around) {
    pass.queue.launch(args, pass.all_rows().most);
    body(normed, {.y = normed});
    args.weight = norms.second;
  } else {
    body(hidden, {.y = normed});
  }
  args.x = normed;
  args.y = hidden;
  args.multiplier = model_.residual_multiplier;
  args.accumulate = true;
  pass.queue.launch(args, pass.all_rows().most);
}

void DeviceModel::run_layer(const DevicePass& pass, int layer) const {
  const DeviceLayer& w = weights_.layer(layer);
  run_sub_layer(pass, {w.attention_norm, w.attention_post_norm},
                [&](const float* x, const Output& to) {
                  if (const auto* latent = std::get_if<DeviceLatent>(&w.attention)) {
                    std::get<LatentPass>(buffers_.attention).run(pass, *latent, layer, x, to);
                  } else {
                    std::get<GroupedQueryPass>(buffers_.attention)
                        .run(pass, std::get<DeviceGroupedQuery>(w.attention), layer, x, to);
                  }
                });
  run_sub_layer(pass, {w.mlp_norm, w.mlp_post_norm}, [&](const float* x, const Output& to) {
    if (const auto* experts = std::get_if<DeviceExperts>(&w.mlp)) {
      buffers_.experts->run(pass, *experts, x, to);
    } else {
      buffers_.mlp.run(pass, std::get<DeviceMlp>(w.mlp), x, to);
    }
  });
}

void DeviceModel::head(const DevicePass& pass, bool proposes) const {
  const RowCount rows = pass.rows_with_logits();
  auto* const logits = buffers_.logits.as<float>();
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = pass.logits,
                                .x = buffers_.hidden.as<float>(),
                                .weight = weights_.final_norm(),
                                .y = buffers_.normed.as<float>(),
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps},
                    rows.most);
  project(pass, rows, buffers_.normed.as<float>(), weights_.head(),
          {.y = logits, .multiplier = 1 / model_.logits_divisor, .cap = model_.logits_cap});
  const auto vocabulary = static_cast<std::size_t>(model_.vocabulary_size);
  for (std::size_t i = 0; i < pass.step.told.size(); ++i) {
    pass.queue.copy(pass.step.told_logits + i * vocabulary,
                    logits + pass.step.told[i].row * vocabulary, vocabulary * sizeof(float),
                    CopyDirection::to_host);
  }
  if (digest_logits_ && !proposes) {
    pass.queue.launch(DigestLogitsArgs{.counts = pass.counts,
                                       .inputs = pass.logits,
                                       .logits = logits,
                                       .digests = pass.step.digests,
                                       .vocabulary = model_.vocabulary_size},
                      rows.most);
  }
  if (pass.shape.processes) {
    pass.queue.launch(ProcessLogitsArgs{.counts = pass.counts,
                                        .inputs = pass.processing,
                                        .adjustments = pass.step.adjustments,
                                        .drafts = pass.step.said_drafts,
                                        .masks = pass.step.masks,
                                        .logits = logits,
                                        .vocabulary = model_.vocabulary_size},
                      rows.most);
  }
  pass.queue.launch(SampleArgs{.counts = pass.counts,
                               .inputs = pass.logits,
                               .logits = logits,
                               .picks = pass.step.picks,
                               .drafts = pass.step.drafts,
                               .vocabulary = model_.vocabulary_size},
                    rows.most);
}

}  // namespace forge::gpu
