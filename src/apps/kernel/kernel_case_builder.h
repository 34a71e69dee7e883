// What the inputs of all kernels are made with: random values, and buffers that begin with them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "forge/core/check.h"
#include "forge/model/kv_pool.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/philox.h"
#include "forge/numerics/tensor_product.h"
#include "kernel_inputs.h"

namespace forge::apps {

/// A buffer as the host knows it and as the device does.
template <class T>
struct Uploaded {
  std::shared_ptr<const std::vector<T>> host;
  T* device = nullptr;

  const T& operator[](std::size_t i) const { return (*host)[i]; }
  const T* data() const { return host->data(); }
  std::size_t size() const { return host->size(); }
};

/// A pool's bytes; where they end within a word, the rest of it is zeros.
inline std::vector<std::uint32_t> words_of(const model::KvPool& pool) {
  std::vector<std::uint32_t> words((pool.bytes().size() + 3) / sizeof(std::uint32_t));
  std::memcpy(words.data(), pool.bytes().data(), pool.bytes().size());
  return words;
}

/// A number rounded to 16 bits.
inline std::uint32_t half_bits(numerics::HalfType type, float x) {
  return type == numerics::HalfType::f16 ? numerics::half_of<numerics::F16>(x).bits
                                         : numerics::half_of<numerics::BF16>(x).bits;
}

/// Numbers rounded to 16 bits, two a word, the first in the lower half. Requires: their number is
/// even; the type is of 16 bits.
inline std::vector<std::uint32_t> words_of_halves(const std::vector<float>& values,
                                                  numerics::KvType type) {
  const numerics::HalfType half = numerics::half_type(type);
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    words.push_back(half_bits(half, values[i]) | half_bits(half, values[i + 1]) << 16);
  }
  return words;
}

class KernelCaseBuilder {
 public:
  KernelCaseBuilder(gpu::Device& device, const KernelSizes& sizes, std::uint64_t seed);

  /// The first error of the device, or the case with this launch.
  tl::expected<std::unique_ptr<KernelCase>, gpu::DeviceError> finish(
      const gpu::KernelLaunch& launch);

  // Sizes that count things. Legend: gpu/kernels.h.
  std::size_t size(int KernelSizes::*member) const {
    return static_cast<std::size_t>(sizes_.*member);
  }
  const KernelSizes& sizes() const { return sizes_; }

  /// Random numbers, other ones at each call: uniform in (-1, 1).
  std::vector<float> floats(std::size_t count);
  /// The numbers 0 .. count - 1 in random order.
  std::vector<std::uint32_t> permutation(std::size_t count);
  std::uint32_t word();

  template <class T>
  Uploaded<T> upload(const char* name, std::vector<T> values,
                     ElementKind kind = std::is_same_v<T, float> ? ElementKind::f32
                                                                 : ElementKind::words) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
    void* const device = put(name, values.data(), values.size() * sizeof(T), kind);
    return {std::make_shared<const std::vector<T>>(std::move(values)), static_cast<T*>(device)};
  }

  numerics::KvType kv_type() const { return static_cast<numerics::KvType>(sizes_.kv); }
  /// The same, or bf16 where it has to be 16 bits.
  numerics::KvType half_kv_type() const {
    return kv_type() == numerics::KvType::f32 ? numerics::KvType::bf16 : kv_type();
  }

  /// The words of a pool of KV.
  Uploaded<std::uint32_t> upload_kv(const char* name, const model::KvPool& pool) {
    return upload(name, words_of(pool),
                  pool.type() == numerics::KvType::f32 ? ElementKind::f32 : ElementKind::words);
  }

  /// A buffer that the kernel writes; until then it is NaN.
  template <class T>
  Uploaded<T> output(const char* name, std::size_t count) {
    std::vector<T> values(count);
    std::memset(static_cast<void*>(values.data()), 0xff, count * sizeof(T));
    return upload(name, std::move(values));
  }

  gpu::PassCounts* counts(const gpu::PassCounts& counts) {
    return upload<gpu::PassCounts>("counts", {counts}).device;
  }
  gpu::PassCounts* row_counts(std::size_t count) {
    return counts({.rows = static_cast<std::uint32_t>(count)});
  }

  /// After the launch, `buffer`, the last one that was uploaded under its name, has what
  /// `change` makes of its first contents.
  template <class T>
  void expect(const Uploaded<T>& buffer, std::function<void(std::vector<T>&)> change) {
    expect_words(buffer.device, [host = buffer.host, change = std::move(change)] {
      std::vector<T> values = *host;
      change(values);
      std::vector<std::uint32_t> words(values.size() * sizeof(T) / sizeof(std::uint32_t));
      std::memcpy(words.data(), values.data(), words.size() * sizeof(std::uint32_t));
      return words;
    });
  }

 private:
  void* put(const char* name, const void* values, std::size_t bytes, ElementKind kind);
  void expect_words(const void* device, std::function<std::vector<std::uint32_t>()> expected);

  gpu::Device& device_;
  KernelSizes sizes_;
  std::uint64_t seed_;
  std::uint32_t draws_ = 0;  ///< calls that used random numbers
  std::unique_ptr<KernelCase> case_ = std::make_unique<KernelCase>();
  std::optional<gpu::DeviceError> error_;
};

/// Writes a, m and l of a segment of one query head, as attend_split leaves them. Returns the end.
inline std::vector<float>::iterator put_segment(const numerics::AttentionSegment& segment,
                                                std::vector<float>::iterator partial) {
  partial = std::ranges::copy(segment.a, partial).out;
  *partial++ = segment.m;
  *partial++ = segment.l;
  return partial;
}

/// The candidates of a row of finite logits (gpu/kernels/candidates.h).
inline std::vector<sampling::BestToken> candidates_of(std::span<const float> row) {
  constexpr auto kLogits = static_cast<std::uint32_t>(gpu::kCandidateLogits);
  std::vector<sampling::BestToken> candidates;
  for (std::uint32_t token = 0; token < row.size(); ++token) {
    if (token % kLogits == 0) candidates.push_back({row[token], token});
    candidates.back().offer(row[token], token);
  }
  return candidates;
}

// build_NAME makes the launch of the kernel NAME and says what is expected of it.
#define FORGE_ENTRY(name, Args) gpu::KernelLaunch build_##name(KernelCaseBuilder& b);
FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY

}  // namespace forge::apps
