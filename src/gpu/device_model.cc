#include "device_model.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

std::variant<CanonicalLayers, FastLayers> layers_of(const GpuModel& model, const Capacity& capacity,
                                                    Allocator& allocator) {
  if (model.numerics() == GpuNumerics::fast) {
    return FastLayers(model.config(), model.half_type(), capacity, allocator);
  }
  return CanonicalLayers(model.config(), capacity, allocator);
}

void upload(model::RotaryTable& table, const Buffer& to, std::uint32_t positions,
            CommandQueue& queue) {
  table.ensure(positions);
  queue.copy(to.as<float>(), table.cos(0), to.bytes(), CopyDirection::to_device);
}

}  // namespace

ModelBuffers::ModelBuffers(const GpuModel& model, const executor::ExecutorOptions& options,
                           const Capacity& capacity, Allocator& allocator,
                           const LibraryReport& report)
    : rotary(allocator.rows(capacity.positions, model.config().rope.size, "rotary table")),
      pool(allocator.take<std::byte>(MemoryKind::device,
                                     options.cache.num_blocks * capacity.block_bytes(), "KV pool")),
      host_pool(allocator.take<std::byte>(MemoryKind::pinned,
                                          options.cache.num_host_blocks * capacity.block_bytes(),
                                          "KV pool of the host")),
      hidden(allocator.rows(capacity.slab_rows, model.config().hidden_size, "hidden")),
      layers(layers_of(model, capacity, allocator)),
      library(model, capacity, allocator, report),
      logits(allocator.rows(capacity.slab_logits, model.config().vocabulary_size, "logits")) {
  if (model.numerics() == GpuNumerics::fast) {
    const int of_row = candidate_count(model.config().vocabulary_size);
    candidates = allocator.take<sampling::BestToken>(
        MemoryKind::device, capacity.slab_logits * static_cast<std::size_t>(of_row), "candidates");
  }
  if (model.config().window_rope) {
    window_rotary = allocator.rows(capacity.positions, model.config().rope.size,
                                   "rotary table of layers with a window");
  }
}

MemoryBytes kv_bytes(const executor::ExecutorOptions& options, const Capacity& capacity) {
  return {.device = options.cache.num_blocks * capacity.block_bytes(),
          .pinned = options.cache.num_host_blocks * capacity.block_bytes()};
}

DeviceModel::DeviceModel(const GpuModel& model, const executor::ExecutorOptions& options,
                         const Capacity& capacity, const ModelPlace& place)
    : model_(model.config()),
      digest_logits_(options.digest_logits),
      block_bytes_(capacity.block_bytes()),
      host_rotary_(std::make_unique<model::RotaryTable>(model_.rope)),
      host_window_rotary_(
          model_.window_rope ? std::make_unique<model::RotaryTable>(*model_.window_rope) : nullptr),
      weights_(model, capacity.slab_rows, place.allocator, &place.queue),
      buffers_(model, options, capacity, place.allocator, place.library) {
  if (!place.allocator.status()) return;
  upload(*host_rotary_, buffers_.rotary, capacity.positions, place.queue);
  if (host_window_rotary_) {
    upload(*host_window_rotary_, buffers_.window_rotary, capacity.positions, place.queue);
  }
  place.queue.synchronize();
  if (!place.queue.status()) return;
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
                        .library = &buffers_.library,
                        .queue = queue};
  embed(pass);
  auto* const hidden = buffers_.hidden.as<float>();
  const int count = slab.pass.layers.value_or(model_.layers);
  std::visit(
      [&](const auto& layers) {
        layers.run(pass, weights_, hidden, count);
        if (shape.counts.logit_rows == 0) return;
        layers.make_logits(pass, weights_, hidden, head_results(shape.logits_use));
      },
      buffers_.layers);
  if (shape.counts.logit_rows > 0) pick(pass, slab.pass.proposes);
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

/// What the head makes, and what is picked from. There are no candidates of logits that change.
HeadResults DeviceModel::head_results(LogitsUse use) const {
  auto* const logits = buffers_.logits.as<float>();
  auto* const candidates = buffers_.candidates.as<sampling::BestToken>();
  if (candidates == nullptr || use == LogitsUse::processed) return {.logits = logits};
  if (use == LogitsUse::largest) return {.candidates = candidates};
  return {logits, candidates};
}

void DeviceModel::pick(const DevicePass& pass, bool proposes) const {
  const RowCount rows = pass.rows_with_logits();
  auto* const logits = buffers_.logits.as<float>();
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
  if (pass.shape.logits_use == LogitsUse::processed) {
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
                               .vocabulary = model_.vocabulary_size,
                               .candidates = head_results(pass.shape.logits_use).candidates},
                    rows.most);
}

}  // namespace forge::gpu
