// KernelRig: one kernel at a time, on arrays of the test's own, its output held to expected bits.
//
//   KernelRig& rig = ...
//   EmbedArgs args{.rows = rig.input("rows", rows), .hidden = rig.output("hidden", before, after)};
//   rig.expect(launch_of(args, args.shape(9)));
//
// expect() launches in every way there is on this target and compares every output, all of it: what
// the kernel must not touch has to be as it was. On the simulated machine the ways are builds,
// orders of threads and numbers of host threads, two of them under the checker; on a GPU there is
// one.
//
// Memory is as large as its contents, so that a step beyond it is seen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "forge/gpu/kernels.h"
#include "forge/numerics/philox.h"
#include "gpu/test_seed.h"

namespace forge::gpu {

class KernelRig {
 public:
  virtual ~KernelRig() = default;

  template <class T>
  T* input(const char* name, const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    void* memory = allocate(bytes, name);
    upload(memory, values.data(), bytes);
    return static_cast<T*>(memory);
  }

  /// Memory that holds `before` at each launch and must hold `after` then: bit for bit, except that
  /// a float that is to be NaN may be any NaN (canonical.h).
  template <class T>
  T* output(const char* name, const std::vector<T>& before, const std::vector<T>& after) {
    void* memory = allocate(before.size() * sizeof(T), name);
    outputs_.push_back({name, memory, bytes_of(before), bytes_of(after), std::is_same_v<T, float>});
    return static_cast<T*>(memory);
  }

  /// Like output(), filled with bytes 0xff before.
  template <class T>
  T* output(const char* name, const std::vector<T>& after) {
    std::vector<T> before(after.size());
    std::ranges::fill(std::as_writable_bytes(std::span(before)), std::byte{0xff});
    return output(name, before, after);
  }

  /// Launches in every way and compares. Of several launches, one after the other.
  void expect(const std::vector<KernelLaunch>& launches);
  void expect(const KernelLaunch& launch) { expect(std::vector{launch}); }

 protected:
  virtual int ways() const = 0;
  virtual std::string name_of(int way) const = 0;
  /// Returns what went wrong, or nothing.
  virtual std::string run(const KernelLaunch& launch, int way) = 0;
  virtual void* allocate(std::size_t bytes, const char* name) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;

 private:
  struct Output {
    std::string name;
    void* memory;
    std::vector<std::byte> before;
    std::vector<std::byte> after;
    bool floats;

    /// "word 17 of 20: 0.25 (0x3e800000), expected 0.5 (0x3f000000)", the first difference, or
    /// nothing.
    std::string difference(const std::vector<std::byte>& found) const;
  };

  template <class T>
  static std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto* data = reinterpret_cast<const std::byte*>(values.data());
    return {data, data + values.size() * sizeof(T)};
  }

  std::vector<Output> outputs_;
};

/// What a seed is in this run (test_seed.h): in the first one itself.
inline std::uint64_t seed_of_run(std::uint64_t seed) { return seed + ((test_seed() - 1) << 32); }

/// A rig on the simulated machine. `seed` gives the orders of threads, with that of the run.
std::unique_ptr<KernelRig> simulated_rig(std::uint64_t seed);

/// Tests of kernels: one body, an instance for the simulated machine, which checks, and one for
/// each device, whose memory and streams they go through as in a run.
enum class Target : std::uint8_t { sim, sim_device, cuda };

/// A rig on a device: simulated, or the first GPU. Requires: not sim; for cuda, a GPU.
std::unique_ptr<KernelRig> device_rig(Target target);

class KernelTest : public ::testing::TestWithParam<Target> {
 protected:
  void SetUp() override;  ///< skips where there is no GPU
  std::unique_ptr<KernelRig> rig(std::uint64_t seed = 1) const {
    return GetParam() == Target::sim ? simulated_rig(seed) : device_rig(GetParam());
  }
};
inline std::string target_name(const ::testing::TestParamInfo<Target>& test) {
  return test.param == Target::sim ? "sim" : test.param == Target::cuda ? "cuda" : "sim_device";
}
#define FORGE_KERNEL_TEST_TARGETS(suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(targets, suite,                                                   \
                           ::testing::Values(Target::sim, Target::sim_device, Target::cuda), \
                           target_name)

/// Numbers as a pure function of a seed and that of the run (test_seed.h), for the shapes and
/// contents of a case.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed_of_run(seed)) {}

  std::uint32_t word() { return numerics::philox({{next_++, 7, 0, 0}}, seed_).x[0]; }
  /// In [low, high].
  int between(int low, int high) {
    return low + static_cast<int>(word() % static_cast<std::uint32_t>(high - low + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[word() % values.size()];
  }
  /// In (-range, range).
  float real(float range = 1.0f) { return (numerics::uniform_open(word()) - 0.5f) * 2 * range; }
  std::vector<float> reals(std::size_t count, float range = 1.0f) {
    std::vector<float> values(count);
    for (float& value : values) value = real(range);
    return values;
  }
  /// 0 .. count - 1, shuffled.
  std::vector<std::uint32_t> permutation(std::uint32_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t at = word() % (i + 1);
      values[i] = values[at];
      values[at] = i;
    }
    return values;
  }

 private:
  std::uint64_t seed_;
  std::uint32_t next_ = 0;
};

}  // namespace forge::gpu
