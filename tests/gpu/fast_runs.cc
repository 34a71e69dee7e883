#include "gpu/fast_runs.h"

#include <gtest/gtest.h>

#include <map>

#include "forge/cuda/cuda_device.h"
#include "forge/engine/engine.h"
#include "forge/executor/logits_digest.h"
#include "forge/sim/sim_device.h"
#include "gpu/fast_reference.h"
#include "gpu/test_cases.h"
#include "gpu/test_seed.h"

namespace forge::testing {

std::unique_ptr<gpu::Device> open(const Place& place) {
  if (place.device == Replayer::cuda) return cuda::open_device().value();
  sim::SimOptions options{.device = sim::find_device(place.simulated).value()};
  options.mode = place.checked ? sim::SimMode::checked : sim::SimMode::plain;
  if (place.checked) options.schedule_seed = 6 + gpu::test_seed();
  options.library = place.library;
  if (place.shared_bytes) options.device.shared_bytes = *place.shared_bytes;
  auto device = std::make_unique<sim::SimDevice>(options);
  if (!place.watch) return device;
  return std::make_unique<WatchedDevice>(std::move(device), place.watch);
}

Outputs run(const gpu::GpuModels& models, const Place& place,
            const std::vector<Request>& requests) {
  gpu::TestCases::count();
  const std::unique_ptr<gpu::Device> device = open(place);
  const executor::ExecutorOptions options{.cache = place.scheduler.cache,
                                          .batch = place.scheduler.batch,
                                          .drafts = place.drafts,
                                          .draft_layers = 1,
                                          .kv_type = place.kv_type,
                                          .digest_logits = true,
                                          .check_kv = true};
  const auto executor = gpu::GpuExecutor::create(*device, models, options, place.gpu).value();
  engine::Engine engine(place.scheduler, *executor);
  Outputs outputs{.of = std::vector<Output>(requests.size())};
  std::map<SeqId, std::size_t> index;
  const auto step = [&] {
    const auto [plan, result] = engine.step();
    EXPECT_TRUE(result.step == plan.step);
    outputs.events.count(plan);
    for (const SliceResult& slice : result.slices) {
      Output& output = outputs.of[index.at(slice.seq)];
      for (std::uint32_t i = slice.first_token; i < slice.first_token + slice.token_count; ++i) {
        output.tokens.push_back(result.tokens[i]);
        output.logits.push_back(result.logits[i]);
      }
    }
  };
  for (const Request& request : requests) {
    index[engine.submit(request).value()] = index.size();
    if (!place.at_once) step();
  }
  while (engine.has_work()) step();
  outputs.statistics = executor->statistics();
  outputs.library = executor->library();
  outputs.step = numerics::step_model(device->info().compute_capability / 10);
  outputs.estimate = device->estimate();
  return outputs;
}

Request request_of(int vocabulary, std::uint32_t prompt, std::uint32_t seed,
                   std::uint32_t new_tokens) {
  Request request;
  for (std::uint32_t k = 0; k < prompt; ++k) {
    const std::uint32_t token = k < 10 ? 3 * k + 1 : 31 * seed + 7 * k + k * k;
    request.prompt.emplace_back(token % static_cast<std::uint32_t>(vocabulary));
  }
  request.max_new_tokens = new_tokens;
  request.sampling = {.temperature = seed % 3 == 2 ? 0.8F : 0.0F, .seed = seed};
  request.ignore_eos = true;
  return request;
}

SchedulerConfig roomy(std::uint32_t block_size) {
  return {.cache = {.num_blocks = 900 / block_size + 1, .block_size = block_size},
          .batch = {.max_batch_size = 1, .max_batch_tokens = 1024},
          .prefill_chunk_size = 1024,
          .prefix_cache = PrefixCacheKind::none};
}

Output expect_reference(FastModel& model, const Place& place, std::uint32_t prompt) {
  constexpr std::uint32_t kNew = 4;
  const Request request = request_of(model.config().vocabulary_size, prompt, 0, kNew);
  const Outputs outputs = run(model.on_gpu(), place, {request});
  Output output = outputs.of.front();
  if (outputs.estimate && prompt > 64 && !place.shared_bytes) {
    EXPECT_GT(outputs.launches(attention_kernels(model.config()).prompts), 0U);
  }
  FastReference reference(
      model.config(), model.stored(),
      {.step = outputs.step, .kv_type = place.kv_type, .positions = prompt + kNew});
  std::vector<float> logits;
  for (const TokenId token : request.prompt) logits = reference.next(token.value);
  EXPECT_EQ(output.tokens.size(), kNew);
  for (std::size_t i = 0; i < output.tokens.size(); ++i) {
    EXPECT_EQ(output.logits[i], executor::logits_digest(logits)) << "token " << i;
    logits = reference.next(output.tokens[i].value);
  }
  return output;
}

void expect_alone_as_beside(FastModel& model, Replayer device,
                            std::initializer_list<gpu::KernelId> kernels,
                            const Crowding& crowding) {
  const auto place = [&](const SchedulerConfig& scheduler) {
    return Place{.device = device, .scheduler = scheduler};
  };
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < crowding.requests; ++i) {
    requests.push_back(
        request_of(model.config().vocabulary_size, 11 + 7 * (i % 4), i, 9 + 3 * (i % 3)));
  }
  std::vector<Output> alone;
  for (const Request& request : requests) {
    alone.push_back(run(model.on_gpu(), place(roomy(16)), {request}).of.front());
  }
  SchedulerConfig crowded{
      .cache = {.num_blocks = crowding.blocks, .block_size = 4, .num_host_blocks = 12},
      .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
      .prefill_chunk_size = 19};
  Events events;
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    const bool swaps = preemption == PreemptionPolicy::swap;
    crowded.preemption = preemption;
    Place together = place(crowded);
    together.drafts = swaps ? 3 : 0;
    together.gpu = {.graphs = !swaps, .overlap = !swaps, .chunk_rows = swaps ? 7U : 512U};
    together.checked = swaps && crowding.checked;
    const Outputs outputs = run(model.on_gpu(), together, requests);
    events.add(outputs.events);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(outputs.of[i], alone[i]) << "request " << i;
    }
    if (swaps || !outputs.estimate) continue;
    for (const gpu::KernelId kernel : kernels) {
      EXPECT_GT(outputs.launches(kernel), 0U) << gpu::name(kernel);
    }
  }
  EXPECT_GT(events.chunks, 0);
  EXPECT_GT(events.prefix_hits, 0);
  EXPECT_GT(events.swaps_in, 0);
  EXPECT_GT(events.recomputes, 0);
  EXPECT_GT(events.drafts, 0);
}

}  // namespace forge::testing
