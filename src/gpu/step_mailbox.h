// StepMailbox: how a step gets to the device and its result back, by one copy each way.
//
//   device  | digests | picks | drafts | header | slabs | rows | logits | ... | pairs | writes |
//           |<------------ download ----------->|
//                                      |<---------------------- upload ----------------------->|
//   host    a pinned buffer for either copy, in the same order (Layout)
//
// The header holds the number of the step. It goes up with the step and comes back with the
// result, so a late result, which is that of an earlier step, does not go unnoticed: arrived() says
// whose it is.
//
// What follows the header is packed by the sizes of the step, so that the upload is short. Steps of
// equal sizes have equal addresses, which is what a graph needs.
//
// Owns the three buffers. Requires of the caller: the stream is idle when pack() is called, and the
// download has been waited for when results are read. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "allocator.h"
#include "capacity.h"
#include "command_queue.h"
#include "forge/core/ids.h"
#include "step_input.h"

namespace forge::gpu {

/// Where the parts of a step are on the device, and where logits go that the host wants.
struct DeviceStep {
  const PassCounts* counts = nullptr;  ///< [slabs]
  const RowInput* rows = nullptr;
  const LogitInput* logits = nullptr;
  const ProcessInput* processing = nullptr;  ///< parallel to `logits`, if a row is processed
  const sampling::Adjustment* adjustments = nullptr;
  const std::uint32_t* masks = nullptr;
  const std::uint32_t* said_drafts = nullptr;  ///< where process_logits finds drafts
  const PromptTile* tiles = nullptr;
  const BlockPair* pairs = nullptr;
  const TableWrite* writes = nullptr;
  const std::uint32_t* write_count = nullptr;
  std::uint32_t* drafts = nullptr;
  std::uint32_t* picks = nullptr;
  std::uint64_t* digests = nullptr;

  // On the host, of the slab at hand.
  std::span<const ToldLogits> told;  ///< rows of logits that the host wants
  float* told_logits = nullptr;      ///< [told][V] where it wants them
};

class StepMailbox {
 public:
  StepMailbox(const Capacity& capacity, Allocator& allocator);

  /// Writes the step to the host's buffer, with room for `sizes` of everything.
  /// Requires: `input` fits into `sizes`, and these into the capacity.
  void pack(StepId step, const StepInput& input, const StepSizes& sizes);

  /// These are for the step that was packed last, or any of the same sizes.
  void upload(CommandQueue& queue) const;
  void download(CommandQueue& queue) const;
  DeviceStep device_step() const;

  /// The step whose result was downloaded last; none before the first.
  std::optional<StepId> arrived() const;
  std::span<const std::uint32_t> picks() const;
  std::span<const std::uint32_t> drafts() const;
  std::span<const std::uint64_t> digests() const;

 private:
  struct alignas(16) Header {
    std::uint64_t step = 0;
    std::uint32_t writes = 0;
  };
  /// Offsets in the device's buffer.
  struct Results {
    explicit Results(const Capacity& capacity);
    std::size_t picks;
    std::size_t drafts;
    std::size_t header;
  };
  struct Layout {
    Layout(std::size_t header, const StepSizes& sizes);
    std::size_t slabs;
    std::size_t rows;
    std::size_t logits;
    std::size_t processing;
    std::size_t adjustments;
    std::size_t masks;
    std::size_t known_drafts;
    std::size_t tiles;
    std::size_t pairs;
    std::size_t writes;
    std::size_t end;
  };

  template <class T>
  T* on_device(std::size_t offset) const {
    return reinterpret_cast<T*>(device_.as<std::byte>() + offset);
  }
  template <class T>
  std::span<const T> downloaded(std::size_t offset, std::uint32_t count) const {
    return {reinterpret_cast<const T*>(download_.as<std::byte>() + offset), count};
  }
  template <class T>
  void put(std::size_t offset, const T* values, std::size_t count);

  Results results_;
  std::uint32_t picks_max_;
  std::uint32_t drafts_max_;
  Buffer device_;
  Buffer upload_;    // pinned; begins with the header
  Buffer download_;  // pinned; ends with the header
  Layout layout_;
};

}  // namespace forge::gpu
