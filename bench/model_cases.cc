#include "model_cases.h"

#include <algorithm>
#include <optional>

#include "forge/core/must.h"

namespace forge {
namespace {

using Phase = ModelCase::Phase;

constexpr std::uint32_t kModelBlockSize = 16;
constexpr std::uint32_t kChunkRows = 2048;
/// A device rounds each piece of memory up: so much more than what is asked for has to be free.
constexpr std::uint64_t kSparePart = 64;
/// Decode steps before those that count. The first captures a graph.
constexpr std::uint32_t kWarmups = 4;
/// And after them, whose launches are timed.
constexpr std::uint32_t kTimed = 1;

/// A prompt of a decode is one token longer than what is skipped of it: its last one samples.
AlikeRequests requests_of(const ModelCase& of, const ModelSizes& sizes) {
  if (of.phase == Phase::prefill) return {.prompt = of.tokens};
  return {.count = of.batch,
          .prompt = of.tokens + 1,
          .new_tokens = 1 + kWarmups + sizes.steps + kTimed};
}

std::uint32_t blocks_of(const ModelCase& of, const ModelSizes& sizes) {
  const AlikeRequests requests = requests_of(of, sizes);
  return requests.count * ((requests.prompt + requests.new_tokens - 1) / kModelBlockSize + 1);
}

/// Contexts of a whole batch are one step.
SchedulerConfig config_of(const ModelRoom& room, const ModelSizes& sizes) {
  return {
      .cache = {.num_blocks = room.blocks, .block_size = kModelBlockSize},
      .batch = {.max_batch_size = room.batch, .max_batch_tokens = room.batch * (sizes.context + 1)},
      .prefill_chunk_size = sizes.context,
      .prefix_cache = PrefixCacheKind::none};
}

executor::ExecutorOptions options_of(const SchedulerConfig& config) {
  return {.cache = config.cache, .batch = config.batch, .kv_type = kModelKv, .check_kv = false};
}

}  // namespace

std::vector<CaseGroup> model_cases(const ModelSizes& sizes) {
  const auto decode = [&](std::uint32_t batch) {
    return ModelCase{.batch = batch, .tokens = sizes.context};
  };
  const ModelCase prefill{.phase = Phase::prefill, .tokens = sizes.prompt};
  CaseGroup all{.gpu = {.matrix_library = true, .chunk_rows = kChunkRows}, .cases = {prefill}};
  for (const std::uint32_t batch : sizes.batches) all.cases.push_back(decode(batch));
  CaseGroup no_graphs{.gpu = all.gpu, .cases = {all.cases.begin() + 1, all.cases.end()}};
  CaseGroup no_overlap{.gpu = all.gpu,
                       .cases = {decode(sizes.batches.front()), decode(sizes.batches.back())}};
  CaseGroup no_library{.gpu = all.gpu, .cases = {prefill, decode(sizes.batches.back())}};
  no_graphs.gpu.graphs = false;
  no_overlap.gpu.overlap = false;
  no_library.gpu.matrix_library = false;
  std::vector<CaseGroup> groups{all, no_graphs, no_overlap, no_library};
  for (CaseGroup& group : groups) {
    std::ranges::stable_sort(group.cases, {},
                             [&](const ModelCase& each) { return blocks_of(each, sizes); });
  }
  return groups;
}

FittingCases fitting_cases(gpu::Device& device, const BenchModel& model, const CaseGroup& group,
                           const ModelSizes& sizes) {
  const std::optional<std::uint64_t> free = must(device.free_bytes());
  FittingCases fitting;
  for (const ModelCase& of : group.cases) {
    const ModelRoom room{std::max(fitting.room.batch, of.batch),
                         std::max(fitting.room.blocks, blocks_of(of, sizes))};
    const executor::ExecutorOptions options = options_of(config_of(room, sizes));
    const std::uint64_t taken =
        gpu::GpuExecutor::memory(model.on_gpu(), options, group.gpu).all().device;
    const std::uint64_t needed = taken + taken / kSparePart;
    const bool fits = !free || needed <= *free;
    if (fits) fitting.room = room;
    fitting.not_run.push_back(fits ? ""
                                   : "needs " + std::to_string(needed) + " bytes, " +
                                         std::to_string(*free) + " free");
  }
  return fitting;
}

nlohmann::ordered_json to_json(const BenchModel& model, const ModelCase& of) {
  return {{"model", model.name()},
          {"weights", name_of(model.weights())},
          {"phase", name_of(of.phase)},
          {"batch", of.batch},
          {"tokens", of.tokens}};
}

ModelRun::ModelRun(gpu::Device& device, const BenchModel& model, const ModelRoom& room,
                   const gpu::GpuOptions& gpu, const ModelSizes& sizes)
    : sizes_(sizes),
      device_(device),
      executor_(must(gpu::GpuExecutor::create(device_, model.on_gpu(),
                                              options_of(config_of(room, sizes)), gpu))),
      batch_(*executor_, config_of(room, sizes)) {}

void ModelRun::begin(const ModelCase& of) {
  batch_.submit(requests_of(of, sizes_));
  if (of.phase == Phase::prefill) return;
  skip_contexts(of);
  for (std::uint32_t i = 0; i < 1 + kWarmups; ++i) batch_.step();
}

void ModelRun::skip_contexts(const ModelCase& of) {
  device_.skip(true);
  batch_.step();
  device_.skip(false);
  const auto is_context = [&](const Slice& slice) {
    return slice.count == of.tokens && !slice.samples;
  };
  FORGE_CHECK(plan().slices.size() == of.batch && std::ranges::all_of(plan().slices, is_context),
              "the contexts of ", of.batch, " sequences are not one step");
}

std::map<std::string, BenchDevice::LaunchTimes> ModelRun::take_times() {
  device_.time(false);
  return device_.take_times();
}

}  // namespace forge
