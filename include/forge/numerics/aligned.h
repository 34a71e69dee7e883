// AlignedFloats, AlignedBytes: a std::vector that begins at the start of a cache line, so that the
// vectors of an instruction set, which are as long as a line or a fraction of it, lie in one line
// each: a load from two lines costs as much as two loads.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace forge::numerics {

inline constexpr std::align_val_t kCacheLine{64};

/// An allocator of memory at the start of a cache line.
template <class T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U>
  explicit AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kCacheLine));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kCacheLine); }

  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;
using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

}  // namespace forge::numerics
