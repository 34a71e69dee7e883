// MemoryMap: which stretches of host memory stand for global memory of the simulated device, so
// that a checker can tell an access that is out of bounds, and a report can name the buffer.
//
// Thread contract: readers and one writer, not at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace forge::simt {

struct MemoryRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name;  ///< "kv_pool"
};

class MemoryMap {
 public:
  /// Requires: overlaps no other range.
  void add(MemoryRange range);
  /// Requires: a range begins there.
  void remove(std::uintptr_t begin);

  /// The range that holds all of [address, address + bytes).
  const MemoryRange* find(std::uintptr_t address, std::size_t bytes) const;
  /// The range that ends or begins nearest to `address`, to say what an access missed.
  const MemoryRange* nearest(std::uintptr_t address) const;

 private:
  std::map<std::uintptr_t, MemoryRange> ranges_;
};

}  // namespace forge::simt
