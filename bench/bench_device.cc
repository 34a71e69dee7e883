#include "bench_device.h"

#include <algorithm>
#include <string_view>

#include "forge/core/must.h"
#include "forge/numerics/half.h"
#include "forge/numerics/philox.h"

namespace forge {
namespace {

constexpr std::uint64_t kKvSeed = 2;
constexpr std::size_t kFilledBytes = std::size_t{16} << 20;  // by the host; then they are repeated

/// Pairs of numbers in [-1, 1] of BF16, which as one float are such a number, too.
void fill_with_numbers(const gpu::Buffer& memory) {
  auto* const numbers = memory.as<std::uint16_t>();
  for (std::size_t i = 0; i < memory.bytes() / sizeof(std::uint16_t); ++i) {
    const auto counter = static_cast<std::uint32_t>(i);
    const std::uint32_t word = numerics::philox({{counter, 0, 0, 0}}, kKvSeed).x[0];
    numbers[i] = numerics::to_bf16(2 * numerics::uniform_open(word) - 1).bits;
  }
}

}  // namespace

class BenchDevice::Stream : public gpu::Stream {
 public:
  Stream(BenchDevice& device, std::unique_ptr<gpu::Stream> stream)
      : device_(device), stream_(std::move(stream)) {}

  gpu::Status launch(const gpu::KernelLaunch& launch) override {
    if (device_.skips_ && launch.kernel != gpu::KernelId::update_tables) return {};
    return timed(gpu::name(launch.kernel), [&] { return stream_->launch(launch); });
  }
  gpu::Status multiply(const gpu::LibraryProduct& product) override {
    if (device_.skips_) return {};
    return timed("library", [&] { return stream_->multiply(product); });
  }
  gpu::Status copy(void* to, const void* from, std::size_t bytes,
                   gpu::CopyDirection direction) override {
    return stream_->copy(to, from, bytes, direction);
  }
  gpu::Status record(gpu::Event& event) override { return stream_->record(event); }
  gpu::Status wait(const gpu::Event& event) override { return stream_->wait(event); }
  gpu::Status begin_capture() override {
    captures_ = true;
    return stream_->begin_capture();
  }
  tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override {
    captures_ = false;
    return stream_->end_capture();
  }
  gpu::Status launch(gpu::Graph& graph) override { return stream_->launch(graph); }
  gpu::Status synchronize() override { return stream_->synchronize(); }

 private:
  gpu::Status timed(std::string_view name, const auto& queue) {
    if (!device_.times_ || captures_) return queue();
    TimedLaunch launch{std::string(name), must(device_.create_event()),
                       must(device_.create_event())};
    must(stream_->record(*launch.begin));
    gpu::Status queued = queue();
    must(stream_->record(*launch.end));
    device_.timed_.push_back(std::move(launch));
    return queued;
  }

  BenchDevice& device_;
  std::unique_ptr<gpu::Stream> stream_;
  bool captures_ = false;
};

tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> BenchDevice::create_stream() {
  auto stream = device_.create_stream();
  if (!stream) return tl::unexpected(stream.error());
  return std::make_unique<Stream>(*this, std::move(*stream));
}

std::map<std::string, BenchDevice::LaunchTimes> BenchDevice::take_times() {
  std::map<std::string, LaunchTimes> times;
  for (const TimedLaunch& launch : timed_) {
    must(launch.end->synchronize());
    LaunchTimes& of_kernel = times[launch.name];
    ++of_kernel.launches;
    of_kernel.us += must(launch.end->microseconds_since(*launch.begin));
  }
  timed_.clear();
  return times;
}

tl::expected<gpu::Buffer, gpu::DeviceError> BenchDevice::allocate(gpu::MemoryKind kind,
                                                                  std::size_t bytes,
                                                                  const char* name) {
  auto buffer = device_.allocate(kind, bytes, name);
  if (!buffer || std::string_view(name) != "KV pool") return buffer;
  if (auto filled = fill(*buffer); !filled) return tl::unexpected(filled.error());
  return buffer;
}

/// The first bytes come from the host; then what is there is doubled until all is filled.
gpu::Status BenchDevice::fill(const gpu::Buffer& memory) {
  std::size_t filled = std::min(kFilledBytes, memory.bytes());
  const auto numbers = device_.allocate(gpu::MemoryKind::pinned, filled, "numbers");
  if (!numbers) return tl::unexpected(numbers.error());
  fill_with_numbers(*numbers);
  const auto stream = device_.create_stream();
  if (!stream) return tl::unexpected(stream.error());
  auto* const begin = memory.as<std::byte>();
  gpu::Status copied =
      (*stream)->copy(begin, numbers->as<void>(), filled, gpu::CopyDirection::to_device);
  while (copied && filled < memory.bytes()) {
    const std::size_t bytes = std::min(filled, memory.bytes() - filled);
    copied = (*stream)->copy(begin + filled, begin, bytes, gpu::CopyDirection::within);
    filled += bytes;
  }
  const gpu::Status done = (*stream)->synchronize();
  return copied ? done : copied;
}

}  // namespace forge
