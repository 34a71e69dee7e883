// The words of dialect.h for a host compiler: at each meeting point a thread hands over to another
// one of its block (machine.h).
//
// The translation unit that compiles kernels chooses the build: FORGE_SIMT_INSTRUMENTED=0, the
// default, is plain, where gptr and sptr are raw pointers; 1 is instrumented, where they report
// each access with its line (dialect_pointers.h). The two builds of one kernel are in different
// namespaces, so that a program can hold both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "forge/numerics/half.h"
#include "forge/simt/async_copy.h"
#include "forge/simt/meeting.h"
#include "forge/simt/shape.h"

#if FORGE_SIMT_INSTRUMENTED
#include "forge/simt/dialect_pointers.h"
#define FORGE_KERNELS forge::kernels::instrumented
#define FORGE_SIMT_BUILD instrumented
#else
#define FORGE_KERNELS forge::kernels::plain
#define FORGE_SIMT_BUILD plain
#endif

#define FORGE_KERNEL(...) inline void
#define FORGE_DEVICE inline
#define FORGE_ROLLED
#define FORGE_UNROLLED
#define FORGE_KERNEL_ENTRY(name) (&::forge::simt::entry<&(name)>)

// As in CUDA, a declaration is one array of the block, however many threads pass it and how often.
#define SIMT_SHARED(type, name, count)                                                     \
  static constexpr ::forge::simt::SharedArray name##_array{#name, sizeof(type) * (count)}; \
  const auto name /* NOLINT */ = ::forge::simt::shared_array<type>(name##_array)
// NOLINTNEXTLINE(readability-identifier-naming): as SIMT_SHARED, which .clang-tidy knows
#define SIMT_SHARED_DYNAMIC(type, name)                                     \
  static constexpr ::forge::simt::SharedArray name##_array{#name, 0, true}; \
  const auto name /* NOLINT */ = ::forge::simt::shared_array<type>(name##_array)

namespace forge::simt {
namespace detail {

/// Of the matrices whose rows are of T.
template <class T>
inline constexpr MatrixType kMatrixType = MatrixType::bf16;
template <>
inline constexpr MatrixType kMatrixType<numerics::F16> = MatrixType::f16;
template <>
inline constexpr MatrixType kMatrixType<std::int8_t> = MatrixType::s8;

}  // namespace detail

inline namespace FORGE_SIMT_BUILD {

#if !FORGE_SIMT_INSTRUMENTED
/// The plain build does not ask: only barriers can be left out of it, which look where they meet.
constexpr bool is_left_out(Site) { return false; }

template <class T>
using gptr = T*;
template <class T>
using sptr = T*;

template <class T>
gptr<T> global(T* p) {
  return p;
}

template <class T>
sptr<T> shared_array(const SharedArray& array) {
  return reinterpret_cast<T*>(detail::declare_shared(array).data);
}

inline Float4 load4(const float* p) {
  Float4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store4(float* p, Float4 v) { std::memcpy(p, &v, sizeof v); }

template <class T>
Words4 load16(const T* p, Site = Site::here()) {
  Words4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store16(T* p, Words4 v) {
  std::memcpy(p, &v, sizeof v);
}

template <class T>
void shared_add(T* p, T v) {
  *p = static_cast<T>(*p + v);
}

template <class T, class U>
void copy_async(T* to, const U* from, bool there) {
  detail::start_copy({to, there ? from : nullptr, {}});
}
#endif

inline int thread() { return detail::running.thread; }
inline int threads() { return detail::running.threads; }
inline int lane() { return detail::running.thread % kWarpSize; }
inline int warp() { return detail::running.thread / kWarpSize; }
inline Index3 block() { return detail::running.block; }
inline Index3 grid() { return detail::running.grid; }

inline std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<std::int8_t>(a >> shift) * static_cast<std::int8_t>(b >> shift);
  }
  return sum;
}

template <class T>
std::uint32_t round_pair(float first, float second) {
  const auto bits = [](float x) -> std::uint32_t {
    if (x != x) return 0x7fffu;
    if constexpr (std::is_same_v<T, numerics::BF16>)
      return numerics::to_bf16(x).bits;
    else
      return numerics::to_f16(x).bits;
  };
  return bits(first) | bits(second) << 16;
}

inline void sync_block(Site site = Site::here()) { detail::go_on(detail::meet_block(site).next); }
inline void sync_warp(Site site = Site::here()) { detail::go_on(detail::meet_warp(site).next); }

template <class T>
T shuffle(T v, int from, Site site = Site::here()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  const detail::Handover handover = detail::exchange(bits, site);
  detail::go_on(handover.next);
  bits = handover.exchange->words[static_cast<std::size_t>(from & (kWarpSize - 1))];
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T>
T shuffle_xor(T v, int mask, Site site = Site::here()) {
  return shuffle(v, lane() ^ mask, site);
}

inline float warp_sum(float v, Site site = Site::here()) {
  return detail::reduced(v, Collective::warp_sum, site);
}
inline float warp_max(float v, Site site = Site::here()) {
  return detail::reduced(v, Collective::warp_max, site);
}

inline void start_next() {}
inline void wait_for_previous(Site site = Site::here()) {
  if (!is_left_out(site)) detail::wait_for_previous();
}

inline void commit_copies(Site site = Site::here()) {
  if (!is_left_out(site)) detail::commit_copies();
}
template <int kPending>
void wait_copies(Site site = Site::here()) {
  if (!is_left_out(site)) detail::wait_copies(kPending);
}

template <class T>
MatrixA load_matrix4(sptr<T> row, Site site = Site::here()) {
  const Words4 words = load16(row, site);
  const detail::Handover handover =
      detail::exchange_rows({words.x, words.y, words.z, words.w}, site);
  detail::go_on(handover.next);
  const auto g = static_cast<std::size_t>(lane() / 4);
  const auto t = static_cast<std::size_t>(lane() % 4);
  const auto& rows = handover.exchange->rows;
  return {{rows[g][t], rows[8 + g][t], rows[16 + g][t], rows[24 + g][t]}};
}

template <class T>
MatrixA load_matrix4_transposed(sptr<T> row, Site site = Site::here()) {
  const Words4 words = load16(row, site);
  const detail::Handover handover =
      detail::exchange_rows({words.x, words.y, words.z, words.w}, site);
  detail::go_on(handover.next);
  const auto g = static_cast<std::size_t>(lane() / 4);
  const auto t = static_cast<std::size_t>(lane() % 4);
  const auto half = [&](std::size_t of) {
    return handover.exchange->rows[of][g / 2] >> 16 * (g % 2) & 0xffffu;
  };
  MatrixA a;
  for (std::size_t m = 0; m < 4; ++m)
    a.words[m] = half(8 * m + 2 * t) | half(8 * m + 2 * t + 1) << 16;
  return a;
}

template <class T, class Sum>
MatrixSum<Sum> matrix_step(const MatrixA& a, const MatrixB& b, const MatrixSum<Sum>& c,
                           Site site = Site::here()) {
  static_assert(std::is_same_v<Sum, SumOf<T>>);
  detail::MatrixShare share{.a = a, .b = b, .sum = {}};
  std::memcpy(share.sum.data(), c.at, sizeof c.at);
  const detail::Handover handover = detail::multiply(share, detail::kMatrixType<T>, site);
  detail::go_on(handover.next);
  MatrixSum<Sum> d;
  std::memcpy(d.at, handover.exchange->shares[static_cast<std::size_t>(lane())].sum.data(),
              sizeof d.at);
  return d;
}

}  // namespace FORGE_SIMT_BUILD

template <class Args>
Args argument_of(void (*kernel)(Args));

/// Runs `kernel`, a void(Args), as the current thread: the Entry (machine.h) of that kernel.
template <auto kKernel>
void entry(const void* args) {
  kKernel(*static_cast<const decltype(argument_of(kKernel))*>(args));
}

}  // namespace forge::simt
