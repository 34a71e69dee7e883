#include "forge/simt/memory_map.h"

#include <iterator>
#include <utility>

#include "forge/core/check.h"

namespace forge::simt {

void MemoryMap::add(MemoryRange range) {
  const auto next = ranges_.lower_bound(range.begin);
  FORGE_CHECK(next == ranges_.end() || range.begin + range.bytes <= next->first, range.name,
              " overlaps ", next->second.name);
  FORGE_CHECK(next == ranges_.begin() ||
                  std::prev(next)->first + std::prev(next)->second.bytes <= range.begin,
              range.name, " overlaps ", std::prev(next)->second.name);
  ranges_.emplace_hint(next, range.begin, std::move(range));
}

void MemoryMap::remove(std::uintptr_t begin) {
  FORGE_CHECK(ranges_.erase(begin) == 1, "no range begins at ", begin);
}

const MemoryRange* MemoryMap::find(std::uintptr_t address, std::size_t bytes) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const MemoryRange& range = std::prev(after)->second;
  const std::size_t offset = address - range.begin;
  return offset <= range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

const MemoryRange* MemoryMap::nearest(std::uintptr_t address) const {
  if (ranges_.empty()) return nullptr;
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return &after->second;
  const MemoryRange& before = std::prev(after)->second;
  const std::uintptr_t end = before.begin + before.bytes;
  if (after == ranges_.end() || address < end || address - end <= after->first - address) {
    return &before;
  }
  return &after->second;
}

}  // namespace forge::simt
