#include "sim_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "forge/core/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define FORGE_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORGE_ASAN
#endif
#endif
#ifdef FORGE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace forge::sim {
namespace {

constexpr std::byte kGuard{0xa5};

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

/// Of the memory that an allocation takes, guard zones included.
std::size_t total_bytes(std::size_t bytes) { return rounded_up(bytes) + 2 * kMemoryAlignment; }

void poison(const std::byte* begin, const std::byte* end) {
#ifdef FORGE_ASAN
  ASAN_POISON_MEMORY_REGION(begin, static_cast<std::size_t>(end - begin));
#else
  static_cast<void>(begin), static_cast<void>(end);
#endif
}

void unpoison(const std::byte* begin, const std::byte* end) {
#ifdef FORGE_ASAN
  ASAN_UNPOISON_MEMORY_REGION(begin, static_cast<std::size_t>(end - begin));
#else
  static_cast<void>(begin), static_cast<void>(end);
#endif
}

/// The first byte of [begin, end) that is no longer kGuard, or end.
const std::byte* first_damage(const std::byte* begin, const std::byte* end) {
  unpoison(begin, end);
  const std::byte* const found =
      std::find_if(begin, end, [](std::byte byte) { return byte != kGuard; });
  poison(begin, end);
  return found;
}

std::string described(const std::string& name, std::size_t bytes) {
  return name + " (" + std::to_string(bytes) + " bytes)";
}

}  // namespace

void SimMemory::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t{kMemoryAlignment});
}

std::optional<std::string> SimMemory::Allocation::damage() const {
  const std::byte* const begin = memory.get();
  const std::byte* const end = begin + total_bytes(bytes);
  const std::byte* found = first_damage(begin, data());
  if (found == data()) found = first_damage(data() + bytes, end);
  if (found == end) return std::nullopt;
  return described(name, bytes) + ": byte " + std::to_string(found - data()) + " was overwritten";
}

tl::expected<void*, std::string> SimMemory::allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                     const char* name) {
  FORGE_CHECK(bytes > 0, name);
  const bool on_device = kind == gpu::MemoryKind::device;
  const std::uint64_t free_bytes = device_bytes_ - device_bytes_used_;
  if (on_device && bytes > free_bytes) {
    return tl::unexpected("out of memory: " + described(name, bytes) + ", " +
                          std::to_string(free_bytes) + " of " + std::to_string(device_bytes_) +
                          " bytes are free");
  }
  Allocation allocation{.bytes = bytes, .kind = kind, .name = name};
  const std::size_t total = total_bytes(bytes);
  allocation.memory.reset(static_cast<std::byte*>(
      ::operator new[](total, std::align_val_t{kMemoryAlignment}, std::nothrow)));
  if (!allocation.memory) {
    return tl::unexpected("out of host memory: " + described(name, bytes));
  }
  std::byte* const begin = allocation.memory.get();
  std::byte* const data = allocation.data();
  std::fill(begin, data, kGuard);
  std::memset(data, kPoison, bytes);
  std::fill(data + bytes, begin + total, kGuard);
  poison(begin, data);
  poison(data + bytes, begin + total);

  bytes_allocated_ += bytes;
  if (on_device) device_bytes_used_ += bytes;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  map_.add({address, bytes, name});
  allocations_.emplace(address, std::move(allocation));
  return data;
}

void SimMemory::release(void* data, gpu::MemoryKind kind) {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(data));
  FORGE_CHECK(found != allocations_.end(), "freed what was not allocated");
  const Allocation& allocation = found->second;
  FORGE_CHECK(allocation.kind == kind, allocation.name);
  const auto damage = allocation.damage();
  FORGE_CHECK(!damage, *damage);
  unpoison(allocation.memory.get(), allocation.memory.get() + total_bytes(allocation.bytes));

  bytes_allocated_ -= allocation.bytes;
  if (kind == gpu::MemoryKind::device) device_bytes_used_ -= allocation.bytes;
  map_.remove(found->first);
  allocations_.erase(found);
}

const SimMemory::Allocation* SimMemory::at(std::uintptr_t address) const {
  auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) return nullptr;
  --found;
  return address - found->first < found->second.bytes ? &found->second : nullptr;
}

std::optional<std::string> SimMemory::range_error(const void* address, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const Allocation* const allocation = at(begin);
  if (allocation == nullptr || allocation->kind != gpu::MemoryKind::device) {
    return "is not device memory";
  }
  const std::size_t offset = begin - reinterpret_cast<std::uintptr_t>(allocation->data());
  if (bytes <= allocation->bytes - offset) return std::nullopt;
  return "leaves " + described(allocation->name, allocation->bytes) + " at byte " +
         std::to_string(offset);
}

std::optional<std::string> SimMemory::host_side_error(const void* address,
                                                      std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const Allocation* const first = at(begin);
  const Allocation* const last = at(begin + bytes - 1);
  for (const Allocation* const side : {first, last}) {
    if (side != nullptr && side->kind == gpu::MemoryKind::device) {
      return "is device memory, " + described(side->name, side->bytes);
    }
  }
  if (first == last) return std::nullopt;
  const Allocation& pinned = first != nullptr ? *first : *last;
  return "leaves " + described(pinned.name, pinned.bytes);
}

std::optional<std::string> SimMemory::copy_error(const void* to, const void* from,
                                                 std::size_t bytes,
                                                 gpu::CopyDirection direction) const {
  if (bytes == 0) return "copies nothing";
  const auto to_error = direction == gpu::CopyDirection::to_host ? host_side_error(to, bytes)
                                                                 : range_error(to, bytes);
  if (to_error) return "the destination " + *to_error;
  const auto from_error = direction == gpu::CopyDirection::to_device ? host_side_error(from, bytes)
                                                                     : range_error(from, bytes);
  if (from_error) return "the source " + *from_error;
  return std::nullopt;
}

std::optional<std::string> SimMemory::damage() const {
  for (const auto& [address, allocation] : allocations_) {
    if (auto found = allocation.damage()) return found;
  }
  return std::nullopt;
}

}  // namespace forge::sim
