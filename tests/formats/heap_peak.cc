#include "formats/heap_peak.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::size_t g_held = 0;
std::size_t g_peak = 0;

/// Before each piece of memory, so that delete knows its size; as large as any alignment.
constexpr std::size_t kHeadBytes = alignof(std::max_align_t);

/// Null if there is none left.
void* counted(std::size_t size) {
  auto* const memory = static_cast<std::byte*>(std::malloc(size + kHeadBytes));
  if (memory == nullptr) return nullptr;
  *reinterpret_cast<std::size_t*>(memory) = size;
  g_held += size;
  g_peak = std::max(g_peak, g_held);
  return memory + kHeadBytes;
}

}  // namespace

namespace forge::formats::testing {

std::size_t heap_bytes() { return g_held; }
std::size_t heap_peak_bytes() { return g_peak; }
void reset_heap_peak() { g_peak = g_held; }

}  // namespace forge::formats::testing

void* operator new(std::size_t size) {
  void* const memory = counted(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// AddressSanitizer's own would not be counted, and then be deleted as if it were.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }

void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  auto* const memory = static_cast<std::byte*>(pointer) - kHeadBytes;
  g_held -= *reinterpret_cast<std::size_t*>(memory);
  std::free(memory);
}

void operator delete(void* pointer, std::size_t) noexcept { operator delete(pointer); }
