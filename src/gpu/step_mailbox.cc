#include "step_mailbox.h"

#include <cstring>
#include <limits>

#include "forge/core/check.h"

namespace forge::gpu {
namespace {

constexpr std::uint64_t kNoStep = std::numeric_limits<std::uint64_t>::max();

constexpr std::size_t aligned(std::size_t offset) { return (offset + 15) / 16 * 16; }

/// The end of `count` of T that begin at `offset`, where the next array may begin.
template <class T>
std::size_t after(std::size_t offset, std::size_t count) {
  return aligned(offset + count * sizeof(T));
}

}  // namespace

StepMailbox::Results::Results(const Capacity& capacity)
    : picks(after<std::uint64_t>(0, capacity.picks)),
      drafts(after<std::uint32_t>(picks, capacity.picks)),
      header(after<std::uint32_t>(drafts, capacity.drafts)) {}

StepMailbox::Layout::Layout(std::size_t header, const StepSizes& sizes)
    : slabs(after<Header>(header, 1)),
      rows(after<PassCounts>(slabs, sizes.slabs)),
      logits(after<RowInput>(rows, sizes.rows)),
      processing(after<LogitInput>(logits, sizes.logits)),
      adjustments(after<ProcessInput>(processing, sizes.processing)),
      masks(after<sampling::Adjustment>(adjustments, sizes.adjustments)),
      known_drafts(after<std::uint32_t>(masks, sizes.masks)),
      tiles(after<std::uint32_t>(known_drafts, sizes.known_drafts)),
      pairs(after<PromptTile>(tiles, sizes.tiles)),
      writes(after<BlockPair>(pairs, sizes.pairs)),
      end(after<TableWrite>(writes, sizes.writes)) {}

StepMailbox::StepMailbox(const Capacity& capacity, Allocator& allocator)
    : results_(capacity),
      picks_max_(capacity.picks),
      drafts_max_(capacity.drafts),
      layout_(results_.header, StepSizes::of(capacity)) {
  device_ = allocator.take<std::byte>(MemoryKind::device, layout_.end, "mailbox");
  upload_ =
      allocator.take<std::byte>(MemoryKind::pinned, layout_.end - results_.header, "upload buffer");
  download_ = allocator.take<std::byte>(MemoryKind::pinned, results_.header + sizeof(Header),
                                        "download buffer");
  if (download_.bytes() == 0) return;
  const Header nothing{.step = kNoStep};
  std::memcpy(download_.as<std::byte>() + results_.header, &nothing, sizeof nothing);
}

template <class T>
void StepMailbox::put(std::size_t offset, const T* values, std::size_t count) {
  if (count == 0) return;
  std::memcpy(upload_.as<std::byte>() + (offset - results_.header), values, count * sizeof(T));
}

void StepMailbox::pack(StepId step, const StepInput& input, const StepSizes& sizes) {
  layout_ = Layout(results_.header, sizes);
  FORGE_CHECK(layout_.end - results_.header <= upload_.bytes(),
              "bytes to upload: ", layout_.end - results_.header, " of ", upload_.bytes());
  const Header header{step.value, static_cast<std::uint32_t>(input.writes.size())};
  put(results_.header, &header, 1);
  for (std::size_t i = 0; i < input.slabs.size(); ++i) {
    put(layout_.slabs + i * sizeof(PassCounts), &input.slabs[i].counts, 1);
  }
  put(layout_.rows, input.rows.data(), input.rows.size());
  put(layout_.logits, input.logits.data(), input.logits.size());
  put(layout_.processing, input.processing.data(), input.processing.size());
  put(layout_.adjustments, input.adjustments.data(), input.adjustments.size());
  put(layout_.masks, input.masks.data(), input.masks.size());
  put(layout_.known_drafts, input.known_drafts.data(), input.known_drafts.size());
  put(layout_.tiles, input.tiles.data(), input.tiles.size());
  put(layout_.pairs, input.pairs.data(), input.pairs.size());
  put(layout_.writes, input.writes.data(), input.writes.size());
}

void StepMailbox::upload(CommandQueue& queue) const {
  queue.copy(on_device<std::byte>(results_.header), upload_.as<std::byte>(),
             layout_.end - results_.header, CopyDirection::to_device);
}

void StepMailbox::download(CommandQueue& queue) const {
  queue.copy(download_.as<std::byte>(), on_device<std::byte>(0), results_.header + sizeof(Header),
             CopyDirection::to_host);
}

DeviceStep StepMailbox::device_step() const {
  auto* const drafts = on_device<std::uint32_t>(results_.drafts);
  const bool known = layout_.tiles > layout_.known_drafts;
  return {.counts = on_device<PassCounts>(layout_.slabs),
          .rows = on_device<RowInput>(layout_.rows),
          .logits = on_device<LogitInput>(layout_.logits),
          .processing = on_device<ProcessInput>(layout_.processing),
          .adjustments = on_device<sampling::Adjustment>(layout_.adjustments),
          .masks = on_device<std::uint32_t>(layout_.masks),
          .said_drafts = known ? on_device<std::uint32_t>(layout_.known_drafts) : drafts,
          .tiles = on_device<PromptTile>(layout_.tiles),
          .pairs = on_device<BlockPair>(layout_.pairs),
          .writes = on_device<TableWrite>(layout_.writes),
          .write_count = on_device<std::uint32_t>(results_.header + offsetof(Header, writes)),
          .drafts = drafts,
          .picks = on_device<std::uint32_t>(results_.picks),
          .digests = on_device<std::uint64_t>(0)};
}

std::optional<StepId> StepMailbox::arrived() const {
  const std::uint64_t step = downloaded<Header>(results_.header, 1)[0].step;
  return step == kNoStep ? std::nullopt : std::optional(StepId(step));
}

std::span<const std::uint32_t> StepMailbox::picks() const {
  return downloaded<std::uint32_t>(results_.picks, picks_max_);
}
std::span<const std::uint32_t> StepMailbox::drafts() const {
  return downloaded<std::uint32_t>(results_.drafts, drafts_max_);
}
std::span<const std::uint64_t> StepMailbox::digests() const {
  return downloaded<std::uint64_t>(0, picks_max_);
}

}  // namespace forge::gpu
