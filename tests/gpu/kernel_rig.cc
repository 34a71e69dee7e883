#include "gpu/kernel_rig.h"

#include <cstring>
#include <optional>
#include <sstream>

#include "forge/cuda/cuda_device.h"
#include "forge/sim/open_device.h"
#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "gpu/simulated_memory.h"
#include "gpu/test_cases.h"
#include "sim_kernel_tables.h"

namespace forge::gpu {
namespace {

enum class Build : std::uint8_t { plain, portable, checked };

struct Way {
  const char* name;
  Build build;
  bool seeded;
  int host_threads;
};
constexpr Way kWays[] = {
    {"plain", Build::plain, false, 1},
    {"plain, another order", Build::plain, true, 1},
    {"plain for any processor, another order, 3 host threads", Build::portable, true, 3},
    {"checked", Build::checked, false, 1},
    {"checked, another order, 2 host threads", Build::checked, true, 2}};

class SimulatedRig : public KernelRig {
 public:
  explicit SimulatedRig(std::uint64_t seed) : seed_(seed_of_run(seed)) {}

 protected:
  int ways() const override { return std::size(kWays); }
  std::string name_of(int way) const override { return kWays[way].name; }

  std::string run(const KernelLaunch& launch, int way_index) override {
    const Way& way = kWays[way_index];
    simt::Machine machine(way.host_threads);
    simt::Checker checker(memory_.map());
    simt::LaunchOptions options;
    if (way.seeded) options.seed = seed_ + static_cast<std::uint64_t>(way_index);
    if (way.build == Build::checked) options.observer = &checker;
    simt::KernelCode code = sim::kernel_code(launch.kernel);
    if (way.build == Build::portable) {
      code.plain = sim::plain_kernels()[static_cast<std::size_t>(launch.kernel)];
    }
    const auto done = machine.run(code, launch.shape, launch.args.data(), options);
    return done ? "" : to_string(done.error());
  }

  void* allocate(std::size_t bytes, const char* name) override {
    return memory_.allocate(name, bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) override { move(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { move(to, from, bytes); }

 private:
  static void move(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);  // an empty vector is at no address
  }

  std::uint64_t seed_;
  SimulatedMemory memory_;
};

class DeviceRig : public KernelRig {
 public:
  explicit DeviceRig(std::unique_ptr<Device> device)
      : device_(std::move(device)), stream_(device_->create_stream().value()) {}

 protected:
  int ways() const override { return 1; }
  std::string name_of(int) const override { return "as launched"; }

  std::string run(const KernelLaunch& launch, int) override {
    if (const auto launched = stream_->launch(launch); !launched) {
      return to_string(launched.error());
    }
    const auto done = stream_->synchronize();
    return done ? "" : to_string(done.error());
  }

  void* allocate(std::size_t bytes, const char* name) override {
    if (bytes == 0) return nullptr;  // an empty vector is at no address
    memory_.push_back(device_->allocate(MemoryKind::device, bytes, name).value());
    return memory_.back().as<void>();
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Buffer pinned = device_->allocate(MemoryKind::pinned, bytes, "upload").value();
    std::memcpy(pinned.as<void>(), from, bytes);
    move(to, pinned.as<void>(), bytes, CopyDirection::to_device);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Buffer pinned = device_->allocate(MemoryKind::pinned, bytes, "download").value();
    move(pinned.as<void>(), from, bytes, CopyDirection::to_host);
    std::memcpy(to, pinned.as<void>(), bytes);
  }

 private:
  void move(void* to, const void* from, std::size_t bytes, CopyDirection direction) {
    EXPECT_TRUE(stream_->copy(to, from, bytes, direction));
    EXPECT_TRUE(stream_->synchronize());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<Buffer> memory_;
};

bool is_nan(std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

}  // namespace

std::string KernelRig::Output::difference(const std::vector<std::byte>& found) const {
  std::size_t i = 0;
  for (; i + 4 <= after.size(); i += 4) {
    float values[2];
    std::uint32_t words[2];
    std::memcpy(&words[0], &found[i], 4);
    std::memcpy(&words[1], &after[i], 4);
    if (words[0] == words[1]) continue;
    if (floats && is_nan(words[0]) && is_nan(words[1])) continue;
    std::memcpy(values, words, sizeof values);
    std::ostringstream text;
    text << "word " << i / 4 << " of " << after.size() / 4 << ": " << values[0] << std::hex
         << " (0x" << words[0] << "), expected " << values[1] << " (0x" << words[1] << ")";
    return text.str();
  }
  const auto rest = static_cast<std::ptrdiff_t>(i);
  const bool equal = std::equal(found.begin() + rest, found.end(), after.begin() + rest);
  return equal ? "" : "a byte after the last whole word";
}

void KernelRig::expect(const std::vector<KernelLaunch>& launches) {
  for (int way = 0; way < ways(); ++way) {
    SCOPED_TRACE(name_of(way));
    for (const Output& output : outputs_) {
      upload(output.memory, output.before.data(), output.before.size());
    }
    TestCases::count();
    for (const KernelLaunch& launch : launches) {
      const std::string failure = run(launch, way);
      ASSERT_EQ(failure, "") << name(launch.kernel);
    }
    for (const Output& output : outputs_) {
      std::vector<std::byte> found(output.after.size());
      download(found.data(), output.memory, found.size());
      ASSERT_EQ(output.difference(found), "") << output.name;
    }
  }
}

std::unique_ptr<KernelRig> simulated_rig(std::uint64_t seed) {
  return std::make_unique<SimulatedRig>(seed);
}

std::unique_ptr<KernelRig> device_rig(Target target) {
  if (target == Target::cuda) return std::make_unique<DeviceRig>(cuda::open_device().value());
  return std::make_unique<DeviceRig>(sim::open_device({}).value());
}

void KernelTest::SetUp() {
  if (GetParam() != Target::cuda) return;
  if (!cuda::built_with_cuda()) GTEST_SKIP() << "this build has no CUDA";
  if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
}

}  // namespace forge::gpu
