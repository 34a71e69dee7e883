#include "cpu/allocation_counter.h"

#include <cstdlib>
#include <new>

// The replaced operators stand alone in this file: where a compiler could inline only one of
// them into a caller, g++ would take malloc and delete for a mismatch.
namespace {
std::size_t allocations = 0;
}  // namespace

namespace forge::testing {
std::size_t allocation_count() { return allocations; }
}  // namespace forge::testing

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
