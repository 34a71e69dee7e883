// BlockTables: the block tables of the batch on the device, a row for each sequence
// (SequenceTable::Sequence::batch_row), kept from step to step.
//
//   ordinary step       the plan's appended blocks are uploaded and written, one by one
//   after a failure     nobody knows which writes have happened: all tables are uploaded, whole
//   very many blocks    likewise, if they are more than the upload has room for
//
// Cutting a table short needs no write: attention reads no block beyond its row's position.
//
// Owns the device's tables and a pinned buffer to upload them from. Thread contract: none of its
// own.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator.h"
#include "capacity.h"
#include "command_queue.h"
#include "forge/executor/sequence_table.h"
#include "forge/executor/step_slices.h"
#include "step_mailbox.h"

namespace forge::gpu {

class BlockTables {
 public:
  BlockTables(const Capacity& capacity, Allocator& allocator);

  /// Notes what the step changes in `writes`, unless the tables must be uploaded whole.
  void collect(const executor::StepSlices& step, std::vector<TableWrite>& writes);

  /// Notes that it is not known what is on the device: the next update is of all tables.
  void distrust() { upload_whole_ = true; }
  bool upload_whole() const { return upload_whole_; }

  /// Queues the update: of all tables if upload_whole(), otherwise the step's `writes` table
  /// writes.
  /// Requires: the stream is idle if upload_whole().
  void update(const executor::SequenceTable& sequences, const DeviceStep& step,
              std::uint32_t writes, CommandQueue& queue);

  const std::uint32_t* device() const { return device_.as<std::uint32_t>(); }
  std::uint32_t stride() const { return stride_; }

 private:
  void upload(const executor::SequenceTable& sequences, CommandQueue& queue);

  std::uint32_t rows_;
  std::uint32_t stride_;
  std::uint32_t writes_max_;
  Buffer device_;  // [rows][stride]
  Buffer pinned_;  // likewise
  bool upload_whole_ = false;
};

}  // namespace forge::gpu
