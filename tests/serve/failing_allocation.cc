#include "serve/failing_allocation.h"

#include <atomic>
#include <cstdlib>
#include <new>

// The replaced operators stand alone in this file: where a compiler could inline only one of
// them into a caller, g++ would take malloc and delete for a mismatch.
namespace {

thread_local bool is_watched = false;
std::atomic<std::uint64_t> allocations_left = 0;  // 0: none fails
std::atomic<bool> failed = false;

bool is_to_fail(std::size_t size) {
  if (size < forge::test::kFailingBytes || !is_watched) return false;
  if (allocations_left == 0 || --allocations_left > 0) return false;
  failed = true;
  return true;
}

}  // namespace

namespace forge::test {

void watch_this_thread() { is_watched = true; }

void fail_allocation(std::uint64_t number) {
  failed = false;
  allocations_left = number;
}

bool has_failed() { return failed; }

}  // namespace forge::test

void* operator new(std::size_t size) {
  void* const memory = is_to_fail(size) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
