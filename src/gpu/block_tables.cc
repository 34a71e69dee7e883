#include "block_tables.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::gpu {

BlockTables::BlockTables(const Capacity& capacity, Allocator& allocator)
    : rows_(capacity.batch_rows), stride_(capacity.table_stride), writes_max_(capacity.writes) {
  const std::size_t entries = std::size_t{rows_} * stride_;
  device_ = allocator.take<std::uint32_t>(MemoryKind::device, entries, "block tables");
  pinned_ = allocator.take<std::uint32_t>(MemoryKind::pinned, entries, "block tables to upload");
}

void BlockTables::collect(const executor::StepSlices& step, std::vector<TableWrite>& writes) {
  for (const executor::StepSlice& slice : step.all()) {
    const std::uint32_t row = slice.sequence->batch_row;
    const std::vector<std::uint32_t>& blocks = slice.sequence->blocks;
    FORGE_CHECK(row < rows_ && blocks.size() <= stride_, "batch row=", row,
                " max_batch_size=", rows_, ", blocks=", blocks.size(), " of at most ", stride_);
    if (writes.size() + blocks.size() - slice.kept_blocks > writes_max_) distrust();
    if (upload_whole_) continue;
    for (std::uint32_t index = slice.kept_blocks; index < blocks.size(); ++index) {
      writes.push_back({row, index, blocks[index]});
    }
  }
  if (upload_whole_) writes.clear();
}

void BlockTables::update(const executor::SequenceTable& sequences, const DeviceStep& step,
                         std::uint32_t writes, CommandQueue& queue) {
  if (upload_whole_) return upload(sequences, queue);
  if (writes == 0) return;
  const UpdateTablesArgs args{.writes = step.writes,
                              .count = step.write_count,
                              .tables = device_.as<std::uint32_t>(),
                              .table_stride = stride_};
  queue.launch(args, writes);
}

void BlockTables::upload(const executor::SequenceTable& sequences, CommandQueue& queue) {
  upload_whole_ = false;
  const std::uint32_t rows = sequences.batch_row_count();
  if (rows == 0) return;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const executor::SequenceTable::Sequence* sequence = sequences.in_batch(row);
    if (sequence == nullptr) continue;
    std::copy(sequence->blocks.begin(), sequence->blocks.end(),
              pinned_.as<std::uint32_t>() + std::size_t{row} * stride_);
  }
  queue.copy(device_.as<std::uint32_t>(), pinned_.as<std::uint32_t>(),
             std::size_t{rows} * stride_ * sizeof(std::uint32_t), CopyDirection::to_device);
}

}  // namespace forge::gpu
