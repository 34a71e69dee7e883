#include "copy_runs.h"

#include "forge/core/check.h"

namespace forge::gpu {

CopyRuns::CopyRuns(std::uint32_t num_blocks, std::uint32_t num_host_blocks, std::size_t copies_max)
    : device_read_(num_blocks), device_written_(num_blocks), host_written_(num_host_blocks) {
  runs_.reserve(copies_max);
}

std::span<const CopyRun> CopyRuns::cut(std::span<const BlockCopy> copies,
                                       std::vector<BlockPair>& pairs) {
  runs_.clear();
  for (std::uint32_t i = 0; i < copies.size(); ++i) {
    const BlockCopy& copy = copies[i];
    const std::size_t sources =
        copy.kind == CopyKind::swap_in ? host_written_.size() : device_read_.size();
    const std::size_t targets =
        copy.kind == CopyKind::swap_out ? host_written_.size() : device_read_.size();
    FORGE_CHECK(copy.from.value < sources && copy.to.value < targets, "from=", copy.from.value,
                " num_blocks=", sources, ", to=", copy.to.value, " num_blocks=", targets);
    if (runs_.empty() || runs_.back().kind != copy.kind || depends(copy)) {
      ++run_;
      runs_.push_back({copy.kind, i, 0});
    }
    ++runs_.back().count;
    note(copy);
    pairs.push_back({copy.from.value, copy.to.value});
  }
  return runs_;
}

/// On a copy of the run at hand, which has the same kind?
bool CopyRuns::depends(const BlockCopy& copy) const {
  const std::uint32_t from = copy.from.value;
  const std::uint32_t to = copy.to.value;
  if (copy.kind == CopyKind::swap_out) return host_written_[to] == run_;
  if (copy.kind == CopyKind::swap_in) return device_written_[to] == run_;
  return device_written_[from] == run_ || device_written_[to] == run_ || device_read_[to] == run_;
}

void CopyRuns::note(const BlockCopy& copy) {
  if (copy.kind != CopyKind::swap_in) device_read_[copy.from.value] = run_;
  (copy.kind == CopyKind::swap_out ? host_written_ : device_written_)[copy.to.value] = run_;
}

}  // namespace forge::gpu
