#include "forge/linear/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "forge/linear/large_memory.h"
#include "panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine_limits.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace forge::linear::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Independent chains: more than an instruction's latency times the units that execute it.
inline constexpr std::size_t kChains = 12;

/// Returns something of all its words, so that they are read. In four places at a time: a single
/// stream leaves a core waiting at each page, where its prefetcher stops.
std::uint64_t read_impl(const std::byte* memory, std::size_t bytes) {
  const hn::CappedTag<std::uint64_t, 8> d;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::CappedTag<std::uint64_t, 8>());
  constexpr std::size_t kStreams = 4;
  constexpr std::size_t kAtOnce = 2;  // vectors of a stream
  const auto* const words = reinterpret_cast<const std::uint64_t*>(memory);
  const std::size_t stream_words = bytes / 8 / kStreams;
  hn::Vec<decltype(d)> sums[kStreams][kAtOnce];
  for (auto& stream : sums) {
    for (auto& sum : stream) sum = hn::Zero(d);
  }
  for (std::size_t i = 0; i + kAtOnce * kLanes <= stream_words; i += kAtOnce * kLanes) {
    for (std::size_t s = 0; s < kStreams; ++s) {
      for (std::size_t j = 0; j < kAtOnce; ++j) {
        sums[s][j] = hn::Add(sums[s][j], hn::LoadU(d, words + s * stream_words + i + j * kLanes));
      }
    }
  }
  auto total = hn::Zero(d);
  for (const auto& stream : sums) {
    for (const auto& sum : stream) total = hn::Add(total, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

/// Steps of kChains vectors each; returns something of all of them. step(sum, a) is one vector.
/// Unrolled by the index sequence, so that compilers keep the vectors in registers.
template <class D, class Step, std::size_t... kChain>
HWY_INLINE float run_chains(D d, int steps, const Step& step, std::index_sequence<kChain...>) {
  const auto a = hn::Set(d, 1);
  hn::Vec<D> sums[] = {hn::Set(d, static_cast<hn::TFromD<D>>(kChain))...};
  for (int i = 0; i < steps; ++i) ((sums[kChain] = step(sums[kChain], a)), ...);
  auto total = hn::Zero(d);
  ((total = hn::Add(total, sums[kChain])), ...);
  return static_cast<float>(hn::GetLane(total));
}

/// Operations of a step of run_chains; 0 where there is no such instruction.
int step_operations_impl(Arithmetic arithmetic) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(hn::CappedTag<float, 16>()));
  if (arithmetic == Arithmetic::f32) return static_cast<int>(kChains) * kLanes * 2;
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
  if (arithmetic == Arithmetic::bf16 && __builtin_cpu_supports("avx512bf16")) {
    return static_cast<int>(kChains) * kLanes * 4;
  }
  if (arithmetic == Arithmetic::int8 && __builtin_cpu_supports("avx512vnni")) {
    return static_cast<int>(kChains) * kLanes * 8;
  }
#endif
  return 0;
}

float multiply_impl(Arithmetic arithmetic, int steps) {
  const hn::CappedTag<float, 16> d;
  constexpr std::make_index_sequence<kChains> kAll;
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
  if (arithmetic == Arithmetic::bf16) {
    return run_chains(
        d, steps,
        [](auto sum, auto a) HWY_ATTR {
          asm volatile("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(a.raw));
          return sum;
        },
        kAll);
  }
  if (arithmetic == Arithmetic::int8) {
    const hn::CappedTag<std::int32_t, 16> ints;
    return run_chains(
        ints, steps,
        [](auto sum, auto a) HWY_ATTR {
          asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(a.raw));
          return sum;
        },
        kAll);
  }
#endif
  (void)arithmetic;
  return run_chains(
      d, steps, [](auto sum, auto a) HWY_ATTR { return hn::MulAdd(a, a, sum); }, kAll);
}

}  // namespace forge::linear::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::linear {

HWY_EXPORT(read_impl);
HWY_EXPORT(step_operations_impl);
HWY_EXPORT(multiply_impl);

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 30;
constexpr std::size_t kPartBytes = std::size_t{128} << 10;
constexpr int kParts = 64;     // of a sample of arithmetic, each ...
constexpr int kSteps = 10000;  // ... of so many steps
constexpr int kSamples = 5;

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Keeps results from being optimised away.
std::atomic<std::uint64_t> sink{0};

}  // namespace

double sample_read_rate(std::span<const std::byte> memory, ThreadPool& pool) {
  const int parts = static_cast<int>((memory.size() + kPartBytes - 1) / kPartBytes);
  const double seconds = seconds_of([&] {
    pool.run(parts, [&](int part) {
      const std::size_t first = static_cast<std::size_t>(part) * kPartBytes;
      sink += HWY_DYNAMIC_DISPATCH(read_impl)(memory.data() + first,
                                              std::min(kPartBytes, memory.size() - first));
    });
  });
  return static_cast<double>(memory.size()) / seconds;
}

std::optional<double> sample_peak_rate(Arithmetic arithmetic, ThreadPool& pool) {
  const int operations = HWY_DYNAMIC_DISPATCH(step_operations_impl)(arithmetic);
  if (operations == 0) return std::nullopt;
  const double seconds = seconds_of([&] {
    pool.run(kParts, [&](int) {
      sink += static_cast<std::uint64_t>(HWY_DYNAMIC_DISPATCH(multiply_impl)(arithmetic, kSteps));
    });
  });
  return static_cast<double>(operations) * kSteps * kParts / seconds;
}

Arithmetic arithmetic_of(PanelKind kind, Numerics numerics) {
  switch (kind) {
    case PanelKind::f32:
    case PanelKind::f16:
      return Arithmetic::f32;
    case PanelKind::bf16:
      return floats::takes_pairs(numerics) ? Arithmetic::bf16 : Arithmetic::f32;
    default:
      return Arithmetic::int8;
  }
}

MachineLimits measure_limits(ThreadPool& pool) {
  MachineLimits best;
  const LargeMemory memory = make_large_memory(kReadBytes);
  std::memset(memory.get(), 1, kReadBytes);
  const auto best_of = [&](Arithmetic arithmetic) {
    std::optional<double> rate;
    for (int i = 0; i < kSamples; ++i) rate = std::max(rate, sample_peak_rate(arithmetic, pool));
    return rate;
  };
  for (int i = 0; i < kSamples; ++i) {
    best.read_bytes_per_s =
        std::max(best.read_bytes_per_s, sample_read_rate({memory.get(), kReadBytes}, pool));
  }
  for (std::size_t i = 0; i < best.peaks.size(); ++i) {
    best.peaks[i] = best_of(static_cast<Arithmetic>(i));
  }
  return best;
}

}  // namespace forge::linear
#endif  // HWY_ONCE
