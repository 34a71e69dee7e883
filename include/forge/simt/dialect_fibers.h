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
#define FORGE_KERNEL_ENTRY(name) (&::forge::simt::entry<&(name)>)

// As in CUDA, a declaration is one array of the block, however many threads pass it and how often.
#define SIMT_SHARED(type, name, count)                                                     \
  static constexpr ::forge::simt::SharedArray name##_array{#name, sizeof(type) * (count)}; \
  const auto name /* NOLINT */ = ::forge::simt::shared_array<type>(name##_array)

namespace forge::simt {
inline namespace FORGE_SIMT_BUILD {

#if !FORGE_SIMT_INSTRUMENTED
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

}  // namespace FORGE_SIMT_BUILD

template <class Args>
Args argument_of(void (*kernel)(Args));

/// Runs `kernel`, a void(Args), as the current thread: the Entry (machine.h) of that kernel.
template <auto kKernel>
void entry(const void* args) {
  kKernel(*static_cast<const decltype(argument_of(kKernel))*>(args));
}

}  // namespace forge::simt
