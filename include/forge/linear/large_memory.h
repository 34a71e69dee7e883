// LargeMemory: memory that is read from one end to the other, faster than a core can translate
// addresses of small pages.
//
// A page of 2 MiB needs one entry of the translation buffer where small ones need 512, and a
// prefetcher, which stops at the end of a page, goes on. The system is asked for them; where it has
// none, the memory is in small pages, and everything else is the same. Only whole large pages are
// asked for, so no more memory is taken than `bytes`.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace forge::linear {

struct LargeMemoryDelete {
  std::align_val_t alignment{};
  void operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }
};

using LargeMemory = std::unique_ptr<std::byte[], LargeMemoryDelete>;

/// Memory that was not written yet, 64-byte aligned. Throws std::bad_alloc.
LargeMemory make_large_memory(std::size_t bytes);

}  // namespace forge::linear
