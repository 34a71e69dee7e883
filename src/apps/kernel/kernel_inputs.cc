#include "kernel_inputs.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernel_case_builder.h"

namespace forge::apps {

KernelCaseBuilder::KernelCaseBuilder(gpu::Device& device, const KernelSizes& sizes,
                                     std::uint64_t seed)
    : device_(device), sizes_(sizes), seed_(seed) {
  auto stream = device.create_stream();
  if (stream) {
    case_->stream_ = std::move(*stream);
  } else {
    error_ = stream.error();
  }
}

tl::expected<std::unique_ptr<KernelCase>, gpu::DeviceError> KernelCaseBuilder::finish(
    const gpu::KernelLaunch& launch) {
  if (error_) return tl::unexpected(*error_);
  case_->launch_ = launch;
  return std::move(case_);
}

std::vector<float> KernelCaseBuilder::floats(std::size_t count) {
  const std::uint32_t draw = draws_++;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = static_cast<std::uint32_t>(i / 4);
    const numerics::Words4 words = numerics::philox({{block, draw, 0, 0}}, seed_);
    values[i] = 2 * numerics::uniform_open(words.x[i % 4]) - 1;
  }
  return values;
}

std::uint32_t KernelCaseBuilder::word() {
  return numerics::philox({{0, draws_++, 0, 0}}, seed_).x[0];
}

std::vector<std::uint32_t> KernelCaseBuilder::permutation(std::size_t count) {
  const std::uint32_t draw = draws_++;
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  for (std::size_t i = count; i > 1; --i) {  // Fisher and Yates
    const auto turn = static_cast<std::uint32_t>(i);
    std::swap(values[i - 1], values[numerics::philox({{turn, draw, 0, 0}}, seed_).x[0] % i]);
  }
  return values;
}

void* KernelCaseBuilder::put(const char* name, const void* values, std::size_t bytes,
                             ElementKind kind) {
  if (error_) return nullptr;
  auto buffer = device_.allocate(gpu::MemoryKind::device, bytes, name);
  if (!buffer) {
    error_ = buffer.error();
    return nullptr;
  }
  void* const device = buffer->as<void>();
  gpu::Status status = case_->stream_->copy(device, values, bytes, gpu::CopyDirection::to_device);
  if (status) status = case_->stream_->synchronize();
  if (!status) error_ = status.error();
  case_->memory_.push_back({name, kind, *std::move(buffer)});
  return device;
}

void KernelCaseBuilder::expect_words(const void* device,
                                     std::function<std::vector<std::uint32_t>()> expected) {
  if (error_) return;
  const auto& memory = case_->memory_;
  const auto found = std::find_if(memory.begin(), memory.end(), [&](const auto& entry) {
    return entry.buffer.template as<void>() == device;
  });
  FORGE_CHECK(found != memory.end(), "a buffer of another case");
  case_->outputs_.push_back(
      {static_cast<std::size_t>(found - memory.begin()), std::move(expected)});
}

tl::expected<std::unique_ptr<KernelCase>, gpu::DeviceError> KernelCase::create(
    gpu::Device& device, const KernelEntry& kernel, const KernelSizes& sizes, std::uint64_t seed) {
  using Build = gpu::KernelLaunch (*)(KernelCaseBuilder&);
  constexpr std::array<Build, gpu::kKernelNames.size()> kBuilds{
#define FORGE_ENTRY(name, Args) build_##name,
      FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY
  };
  KernelCaseBuilder builder(device, sizes, seed);
  return builder.finish(kBuilds[static_cast<std::size_t>(kernel.id)](builder));
}

tl::expected<std::vector<KernelComparison>, gpu::DeviceError> KernelCase::compare() {
  std::vector<KernelComparison> comparisons;
  for (const Output& output : outputs_) {
    const Memory& memory = memory_[output.memory];
    std::vector<std::uint32_t> words(memory.buffer.bytes() / sizeof(std::uint32_t));
    gpu::Status status = stream_->copy(words.data(), memory.buffer.as<void>(),
                                       memory.buffer.bytes(), gpu::CopyDirection::to_host);
    if (status) status = stream_->synchronize();
    if (!status) return tl::unexpected(status.error());
    const std::vector<std::uint32_t> expected = output.expected();
    KernelComparison comparison{.buffer = memory.name, .values = words.size()};
    for (std::size_t i = words.size(); i-- > 0;) {
      if (words[i] == expected[i]) continue;
      ++comparison.different;
      comparison.first_different = i;
    }
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

ElementKind KernelCase::kind_of(const std::string& buffer) const {
  for (const Memory& memory : memory_) {
    if (memory.name == buffer) return memory.kind;
  }
  FORGE_CHECK(false, "no buffer ", buffer);
  return ElementKind::words;
}

}  // namespace forge::apps
