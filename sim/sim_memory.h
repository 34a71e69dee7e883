// SimMemory: the simulated device's memory, device and pinned alike. It lies in host memory, each
// allocation between two guard zones, and is filled with 0xff bytes: every float is a NaN, every
// index out of range.
//
//   | guard 256 | bytes ... | guard, at least 256, up to a multiple of 256 |
//               ^ 256-byte aligned
//
// Under AddressSanitizer the guard zones are poisoned too, so that an access of a kernel beyond its
// buffer is reported where it happens.
//
// Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/gpu/device.h"
#include "forge/simt/memory_map.h"

namespace forge::sim {

inline constexpr std::size_t kMemoryAlignment = 256;
inline constexpr std::uint8_t kPoison = 0xff;

class SimMemory {
 public:
  /// `device_bytes` is how much device memory there is.
  explicit SimMemory(std::uint64_t device_bytes) : device_bytes_(device_bytes) {}
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  /// Errors: a text that names sizes and buffer. Requires: bytes > 0.
  tl::expected<void*, std::string> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                            const char* name);

  /// Requires: allocated here with this kind; its guard zones are whole.
  void release(void* data, gpu::MemoryKind kind);

  /// What is wrong with a copy; none if nothing is. Device memory has to lie within one allocation.
  /// So has host memory that begins or ends in pinned memory; other host memory is not known here.
  std::optional<std::string> copy_error(const void* to, const void* from, std::size_t bytes,
                                        gpu::CopyDirection direction) const;

  /// What is wrong with memory that the device is to use; none if it lies within one allocation.
  std::optional<std::string> range_error(const void* address, std::size_t bytes) const;

  /// A guard zone that was written to: "kv_pool (4096 bytes): byte 4100 was overwritten".
  std::optional<std::string> damage() const;

  std::uint64_t device_bytes_used() const { return device_bytes_used_; }
  /// The bytes that are allocated now, of both kinds.
  std::uint64_t bytes_allocated() const { return bytes_allocated_; }
  const simt::MemoryMap& map() const { return map_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Allocation {
    std::unique_ptr<std::byte[], Free> memory;  ///< with both guard zones
    std::size_t bytes = 0;
    gpu::MemoryKind kind = gpu::MemoryKind::device;
    std::string name;

    std::byte* data() const { return memory.get() + kMemoryAlignment; }
    std::optional<std::string> damage() const;
  };

  const Allocation* at(std::uintptr_t address) const;
  std::optional<std::string> host_side_error(const void* address, std::size_t bytes) const;

  std::uint64_t device_bytes_;
  std::uint64_t device_bytes_used_ = 0;
  std::uint64_t bytes_allocated_ = 0;
  std::map<std::uintptr_t, Allocation> allocations_;  ///< by address of the data
  simt::MemoryMap map_;
};

}  // namespace forge::sim
