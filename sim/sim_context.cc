#include "sim_context.h"

#include <array>
#include <cstring>
#include <limits>

#include "forge/core/check.h"
#include "forge/sim/kernel_time.h"
#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "sim_stream.h"

namespace forge::sim {
namespace {

constexpr std::array<std::string_view, 9> kCallNames{"allocate", "create",   "copy",
                                                     "launch",   "multiply", "graph launch",
                                                     "event",    "capture",  "synchronize"};

/// The seed of a device's launch number `launch`: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t seed_of_launch(std::uint64_t seed, std::uint64_t launch) {
  std::uint64_t z = seed + (launch + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

SimContext::SimContext(const SimOptions& options)
    : options_(options),
      memory_(options.memory_bytes.value_or(std::numeric_limits<std::uint64_t>::max())),
      machine_(options.host_threads) {
  statistics_.kernels.resize(gpu::kKernelNames.size());
}

SimContext::~SimContext() {
  FORGE_CHECK(live_objects == 0, live_objects, " streams, events or graphs outlive their device");
  FORGE_CHECK(memory_.bytes_allocated() == 0, memory_.bytes_allocated(),
              " bytes of device and pinned memory outlive their device");
}

gpu::DeviceError SimContext::error(DeviceCall::Kind kind, std::string message) const {
  return {.call = std::string(kCallNames[static_cast<std::size_t>(kind)]),
          .message = std::move(message),
          .device = device_name(),
          .lost = lost()};
}

gpu::DeviceError SimContext::lose(DeviceCall::Kind kind, std::string message) {
  lost_because_ = message;
  return error(kind, std::move(message));
}

gpu::DeviceError SimContext::lost_error(DeviceCall::Kind kind, std::string_view what) const {
  return error(kind, std::string(what) + ": the device is lost: " + *lost_because_);
}

tl::expected<bool, gpu::DeviceError> SimContext::begin_call(DeviceCall::Kind kind,
                                                            std::string_view what) {
  const DeviceCall call{kind, calls_++, what};
  if (lost()) return tl::unexpected(lost_error(kind, what));
  const Fault fault = options_.faults ? options_.faults(call) : Fault::none;
  const std::string place =
      std::string(what) + ": injected fault at call " + std::to_string(call.index);
  if (fault == Fault::fails) return tl::unexpected(error(kind, place));
  if (fault == Fault::device_lost) return tl::unexpected(lose(kind, place + ", device lost"));
  return fault == Fault::late;
}

gpu::Status SimContext::begin_call_outside_capture(DeviceCall::Kind kind, std::string_view what) {
  if (const auto begun = begin_call(kind, what); !begun) return tl::unexpected(begun.error());
  if (capturing) return tl::unexpected(error(kind, std::string(what) + ": not in a capture"));
  return {};
}

void SimContext::poison_destination(const CopyOperation& copy) {
  if (copy.direction == gpu::CopyDirection::to_host) std::memset(copy.to, kPoison, copy.bytes);
}

gpu::Status SimContext::run(const CopyOperation& copy, const RunOptions& options) {
  options.launches->end_all();
  ++statistics_.copies;
  statistics_.bytes_copied += copy.bytes;
  statistics_.device_us += copy_us(options_.device, copy.bytes);
  if (copy.direction == gpu::CopyDirection::to_host) deliver_late_copies();
  if (copy.direction == gpu::CopyDirection::to_host && options.late) {
    const auto* const from = static_cast<const std::byte*>(copy.from);
    late_copies_.push_back({static_cast<std::byte*>(copy.to), {from, from + copy.bytes}});
  } else {
    std::memmove(copy.to, copy.from, copy.bytes);
  }
  return {};
}

void SimContext::deliver_late_copies() {
  for (const LateCopy& copy : late_copies_) {
    std::memcpy(copy.to, copy.bytes.data(), copy.bytes.size());
  }
  late_copies_.clear();
}

gpu::Status SimContext::run(const gpu::KernelLaunch& launch, const RunOptions& options) {
  simt::LaunchOptions launch_options;
  launch_options.step_model = numerics::step_model(options_.device.compute_capability / 10);
  launch_options.heartbeat = options_.heartbeat;
  if (options_.schedule_seed) {
    launch_options.seed = seed_of_launch(*options_.schedule_seed, statistics_.launches);
  }
  std::optional<simt::Checker> checker;
  if (options_.mode == SimMode::checked) {
    options.launches->begin(std::string(gpu::name(launch.kernel)), launch.overlaps);
    launch_options.observer = &checker.emplace(memory_.map(), options.launches);
  }
  const auto done =
      machine_.run(kernel_code(launch.kernel), launch.shape, launch.args.data(), launch_options);
  if (!done) {
    kernel_fault_ = done.error();
    return tl::unexpected(lose(DeviceCall::Kind::launch, to_string(done.error())));
  }
  if (checker) checker->end_launch();
  const LaunchContext context{.in_graph = options.in_graph,
                              .working_set_bytes = memory_.device_bytes_used()};
  const double us = estimate(options_.device, launch, context).total_us;
  gpu::Estimate::Kernel& total = statistics_.kernels[static_cast<std::size_t>(launch.kernel)];
  ++total.launches;
  total.us += us;
  ++statistics_.launches;
  statistics_.device_us += us;
  return {};
}

gpu::Status SimContext::run(const ProductOperation& operation, const RunOptions& options) {
  options.launches->end_all();
  gpu::LibraryProduct product = operation.product;
  product.algorithm = &operation.algorithm;
  options_.library->multiply(product);
  ++statistics_.library_products;
  statistics_.device_us += product_us(options_.device, product.shape, options.in_graph);
  return {};
}

gpu::Status SimContext::check_guards() {
  if (options_.mode != SimMode::checked) return {};
  const auto damage = memory_.damage();
  if (!damage) return {};
  return tl::unexpected(lose(DeviceCall::Kind::synchronize, *damage));
}

void SimContext::finish_all() {
  for (SimStream* const stream : streams_) static_cast<void>(stream->finish());
}

tl::expected<gpu::Buffer, gpu::DeviceError> SimContext::allocate(gpu::Buffer::Owner& owner,
                                                                 gpu::MemoryKind kind,
                                                                 std::size_t bytes,
                                                                 const char* name) {
  const auto begun = begin_call_outside_capture(DeviceCall::Kind::allocate, name);
  if (!begun) return tl::unexpected(begun.error());
  const auto data = memory_.allocate(kind, bytes, name);
  if (!data) return tl::unexpected(error(DeviceCall::Kind::allocate, data.error()));
  statistics_.bytes_allocated = memory_.bytes_allocated();
  statistics_.bytes_allocated_max =
      std::max(statistics_.bytes_allocated_max, statistics_.bytes_allocated);
  return gpu::Buffer(owner, kind, *data, bytes);
}

void SimContext::release(void* data, gpu::MemoryKind kind) {
  finish_all();
  const auto released = reinterpret_cast<std::uintptr_t>(data);
  std::erase_if(late_copies_, [&](const LateCopy& copy) {
    const auto* const range = memory_.map().find(reinterpret_cast<std::uintptr_t>(copy.to), 1);
    return range != nullptr && range->begin == released;
  });
  memory_.release(data, kind);
  statistics_.bytes_allocated = memory_.bytes_allocated();
}

}  // namespace forge::sim
