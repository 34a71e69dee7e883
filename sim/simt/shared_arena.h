// SharedArena: the shared memory of the block that runs. Arrays are cut off it as the block's first
// thread declares them, each on a multiple of 128 bytes (32 banks of 4), and filled with 0xff:
// as a float that is a NaN, as an index it is out of every range. Under AddressSanitizer what is
// between and behind them is poisoned.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "forge/simt/meeting.h"

namespace forge::simt {

class SharedArena {
 public:
  /// What CUDA gives to a block that asks for no more: its arrays of fixed size.
  static constexpr std::size_t kBytesMax = 48 * 1024;

  SharedArena();
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  /// Forgets all arrays, before a block begins whose dynamic array has so many bytes.
  void clear(int dynamic_bytes);
  std::size_t count() const { return arrays_.size(); }

  /// The array of this declaration. The first call in a block makes it.
  /// Requires: all arrays of fixed size of a block together have at most kBytesMax; at most one is
  /// dynamic.
  SharedMemory declare(const SharedArray& array);

  const std::byte* data() const { return bytes_; }

 private:
  struct Entry {
    const SharedArray* declaration;
    SharedMemory memory;
  };
  std::unique_ptr<std::byte[]> memory_;
  std::byte* bytes_ = nullptr;
  std::size_t used_ = 0;  ///< with gaps
  std::size_t array_bytes_ = 0;
  std::size_t dynamic_bytes_ = 0;
  std::vector<Entry> arrays_;
};

}  // namespace forge::simt
