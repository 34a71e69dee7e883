// Allocator: takes all the memory that an executor needs, piece by piece. After the first failure
// it takes nothing more and remembers what it was, so that code which takes much memory reads
// without a branch after each piece. Without a device it only counts what would be taken.
//
// Borrows the device. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "forge/gpu/device.h"

namespace forge::gpu {

class Allocator {
 public:
  Allocator() = default;
  explicit Allocator(Device& device) : device_(&device) {}

  /// Takes room for `count` of T: none if `count` is 0, after a failure, or without a device.
  template <class T>
  Buffer take(MemoryKind kind, std::size_t count, const char* name) {
    if (count == 0 || !status_) return {};
    const std::size_t bytes = count * sizeof(T);
    (kind == MemoryKind::device ? bytes_.device : bytes_.pinned) += bytes;
    if (device_ == nullptr) return {};
    auto buffer = device_->allocate(kind, bytes, name);
    if (buffer) return std::move(*buffer);
    status_ = tl::unexpected(std::move(buffer.error()));
    return {};
  }

  /// Takes room on the device for floats [count][width].
  Buffer rows(std::uint64_t count, int width, const char* name) {
    return take<float>(MemoryKind::device, count * static_cast<std::uint64_t>(width), name);
  }

  /// Null after a failure, or without a device.
  std::unique_ptr<Event> event() {
    if (device_ == nullptr || !status_) return nullptr;
    auto event = device_->create_event();
    if (event) return std::move(*event);
    status_ = tl::unexpected(std::move(event.error()));
    return nullptr;
  }

  const Status& status() const { return status_; }
  /// The memory that was asked for, up to the first failure.
  const MemoryBytes& bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  Status status_;
  MemoryBytes bytes_;
};

}  // namespace forge::gpu
