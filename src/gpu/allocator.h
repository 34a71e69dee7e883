// Allocator: takes all the memory that an executor needs, piece by piece. After the first failure
// it takes nothing more and remembers what it was, so that code which takes much memory reads
// without a branch after each piece.
//
// Borrows the device. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <utility>

#include "forge/gpu/device.h"

namespace forge::gpu {

class Allocator {
 public:
  explicit Allocator(Device& device) : device_(device) {}

  /// Room for `count` of T; no memory if that is none, or after a failure.
  template <class T>
  Buffer take(MemoryKind kind, std::size_t count, const char* name) {
    if (count == 0 || !status_) return {};
    auto buffer = device_.allocate(kind, count * sizeof(T), name);
    if (buffer) return std::move(*buffer);
    status_ = tl::unexpected(std::move(buffer.error()));
    return {};
  }

  const Status& status() const { return status_; }

 private:
  Device& device_;
  Status status_;
};

}  // namespace forge::gpu
