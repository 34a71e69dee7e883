// PeerMemory: device memory that begins with values of the host, and values that come back. Waits
// for every copy; aborts with the name of the call where the device fails, as all benchmarks do.
//
// Thread contract: as the device.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forge/core/must.h"
#include "forge/gpu/device.h"
#include "forge/numerics/kv_type.h"
#include "forge/numerics/philox.h"

namespace forge {

class PeerMemory {
 public:
  explicit PeerMemory(gpu::Device& device)
      : device_(device), stream_(must(device.create_stream())) {}

  gpu::Buffer allocate(std::size_t bytes, const char* name,
                       gpu::MemoryKind kind = gpu::MemoryKind::device) {
    return must(device_.allocate(kind, bytes, name));
  }

  /// No memory where there are no values.
  template <class T>
  gpu::Buffer upload(const std::vector<T>& values, const char* name) {
    if (values.empty()) return {};
    gpu::Buffer buffer = allocate(values.size() * sizeof(T), name);
    write(buffer.as<void>(), values.data(), buffer.bytes());
    return buffer;
  }

  /// `bytes` bytes of 0xff: NaN, whatever the type.
  gpu::Buffer allocate_nan(std::size_t bytes, const char* name) {
    gpu::Buffer buffer = allocate(bytes, name);
    set_nan(buffer, bytes);
    return buffer;
  }
  void set_nan(const gpu::Buffer& buffer, std::size_t bytes) {
    const std::vector<unsigned char> ones(bytes, 0xff);
    write(buffer.as<void>(), ones.data(), bytes);
  }

  /// `bytes` bytes of `values`, again and again.
  template <class T>
  gpu::Buffer repeat(const std::vector<T>& values, std::size_t bytes, const char* name) {
    gpu::Buffer buffer = allocate(bytes, name);
    std::size_t done = std::min(bytes, values.size() * sizeof(T));
    write(buffer.as<void>(), values.data(), done);
    while (done < bytes) {
      const std::size_t more = std::min(done, bytes - done);
      must(stream_->copy(buffer.as<std::byte>() + done, buffer.as<void>(), more,
                         gpu::CopyDirection::within));
      done += more;
    }
    must(stream_->synchronize());
    return buffer;
  }

  template <class T>
  std::vector<T> download(const gpu::Buffer& buffer, std::size_t count) {
    std::vector<T> values(count);
    must(stream_->copy(values.data(), buffer.as<void>(), count * sizeof(T),
                       gpu::CopyDirection::to_host));
    must(stream_->synchronize());
    return values;
  }

 private:
  void write(void* to, const void* from, std::size_t bytes) {
    must(stream_->copy(to, from, bytes, gpu::CopyDirection::to_device));
    must(stream_->synchronize());
  }

  gpu::Device& device_;
  std::unique_ptr<gpu::Stream> stream_;
};

/// "needs 88123456789 bytes, 84567890123 free", or "" where the device has as many.
inline std::string missing_bytes(gpu::Device& device, std::uint64_t needed) {
  const std::optional<std::uint64_t> free = must(device.free_bytes());
  if (!free || needed <= *free) return "";
  return "needs " + std::to_string(needed) + " bytes, " + std::to_string(*free) + " free";
}

/// Random numbers in (-range, range), rounded.
inline std::vector<numerics::BF16> random_bf16(std::size_t count, std::uint64_t seed, float range) {
  std::vector<numerics::BF16> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word =
        numerics::philox({{static_cast<std::uint32_t>(i), 0, 0, 0}}, seed).x[0];
    numbers[i] = numerics::stored<numerics::BF16>(range * (2 * numerics::uniform_open(word) - 1));
  }
  return numbers;
}

}  // namespace forge
