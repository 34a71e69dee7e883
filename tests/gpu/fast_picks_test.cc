// Who wants logits of a model in fast numerics, and who does with candidates
// (gpu/kernels/candidates.h): the tokens are the same, and steps that pick the largest write no
// logits.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "forge/cuda/cuda_device.h"
#include "forge/engine/engine.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/sim/sim_device.h"
#include "gpu/fast_models.h"
#include "gpu/replay_world.h"

namespace forge::testing {
namespace {

/// The launches that make something of rows with logits, as they were queued or captured.
struct HeadLaunches {
  int logits = 0;  ///< heads that write logits alone
  int both = 0;    ///< and those that write candidates, too
  int candidates = 0;
  int picks_from_logits = 0;
  int picks_from_candidates = 0;
  int processed = 0;

  void count(const gpu::KernelLaunch& launch) {
    gpu::visit_args(launch, [&](const auto& args) {
      using Args = std::remove_cvref_t<decltype(args)>;
      if constexpr (requires { args.product.candidates; }) {
        if (args.product.candidates != nullptr) {
          ++(args.product.y == nullptr ? candidates : both);
        } else if (args.product.row_count != head_rows) {
          return;
        } else {
          ++logits;
        }
      } else if constexpr (std::is_same_v<Args, gpu::SampleArgs>) {
        ++(args.candidates == nullptr ? picks_from_logits : picks_from_candidates);
      } else if constexpr (std::is_same_v<Args, gpu::ProcessLogitsArgs>) {
        ++processed;
      } else if constexpr (std::is_same_v<Args, gpu::ScaleRowsArgs>) {
        head_rows = args.logits == nullptr ? nullptr : &args.counts->logit_rows;
      }
    });
  }

 private:
  const std::uint32_t* head_rows = nullptr;  ///< the product that comes next is that of a head
};

/// A stream that counts what is launched.
class CountingStream : public gpu::Stream {
 public:
  CountingStream(std::unique_ptr<gpu::Stream> stream, HeadLaunches& heads)
      : stream_(std::move(stream)), heads_(heads) {}

  gpu::Status launch(const gpu::KernelLaunch& launch) override {
    heads_.count(launch);
    return stream_->launch(launch);
  }
  gpu::Status copy(void* to, const void* from, std::size_t bytes,
                   gpu::CopyDirection direction) override {
    return stream_->copy(to, from, bytes, direction);
  }
  gpu::Status record(gpu::Event& event) override { return stream_->record(event); }
  gpu::Status wait(const gpu::Event& event) override { return stream_->wait(event); }
  gpu::Status begin_capture() override { return stream_->begin_capture(); }
  tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override {
    return stream_->end_capture();
  }
  gpu::Status launch(gpu::Graph& graph) override { return stream_->launch(graph); }
  gpu::Status synchronize() override { return stream_->synchronize(); }

 private:
  std::unique_ptr<gpu::Stream> stream_;
  HeadLaunches& heads_;
};

/// A device whose streams count.
class CountingDevice : public gpu::Device {
 public:
  CountingDevice(gpu::Device& device, HeadLaunches& heads) : device_(device), heads_(heads) {}

  gpu::DeviceInfo info() const override { return device_.info(); }
  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override {
    return device_.free_bytes();
  }
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override {
    return device_.allocate(kind, bytes, name);
  }
  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override {
    auto stream = device_.create_stream();
    if (!stream) return stream;
    return std::make_unique<CountingStream>(std::move(*stream), heads_);
  }
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override {
    return device_.create_event();
  }
  void release(void* data, gpu::MemoryKind kind) override { device_.release(data, kind); }

 private:
  gpu::Device& device_;
  HeadLaunches& heads_;
};

using Tokens = std::vector<std::vector<TokenId>>;  // of each request

struct Picked {
  Tokens tokens;
  HeadLaunches heads;
};

/// How requests run.
struct Way {
  bool digests = false;
  std::uint32_t drafts = 0;
  bool graphs = true;
  bool checked = false;
  std::uint32_t batch = 5;
};

std::unique_ptr<gpu::Device> device_of(Replayer replayer, bool checked) {
  if (replayer == Replayer::cuda) return cuda::open_device().value();
  sim::SimOptions options{.device = sim::find_device("h200").value()};
  options.mode = checked ? sim::SimMode::checked : sim::SimMode::plain;
  return std::make_unique<sim::SimDevice>(options);
}

Picked pick(Replayer replayer, const gpu::GpuModels& models, const Way& way,
            const std::vector<Request>& requests) {
  const SchedulerConfig scheduler{
      .cache = {.num_blocks = 160, .block_size = 4},
      .batch = {.max_batch_size = way.batch, .max_batch_tokens = 5 * way.batch},
      .prefill_chunk_size = 9};
  const executor::ExecutorOptions options{.cache = scheduler.cache,
                                          .batch = scheduler.batch,
                                          .drafts = way.drafts,
                                          .draft_layers = 1,
                                          .kv_type = numerics::KvType::bf16,
                                          .digest_logits = way.digests};
  Picked picked{.tokens = Tokens(requests.size())};
  const std::unique_ptr<gpu::Device> device = device_of(replayer, way.checked);
  CountingDevice counting(*device, picked.heads);
  const auto executor =
      gpu::GpuExecutor::create(counting, models, options, {.graphs = way.graphs}).value();
  engine::Engine engine(scheduler, *executor);
  std::map<SeqId, std::size_t> index;
  for (const Request& request : requests) index[engine.submit(request).value()] = index.size();
  while (engine.has_work()) {
    const auto [plan, result] = engine.step();
    for (const SliceResult& slice : result.slices) {
      auto& tokens = picked.tokens[index.at(slice.seq)];
      const auto first = result.tokens.begin() + slice.first_token;
      tokens.insert(tokens.end(), first, first + slice.token_count);
    }
  }
  return picked;
}

Request request_with(const SamplingParams& sampling) {
  Request request{.max_new_tokens = 6, .sampling = sampling};
  for (std::uint32_t i = 0; i < 13; ++i) request.prompt.emplace_back(6 * i + sampling.seed % 5);
  request.ignore_eos = true;
  return request;
}

std::vector<Request> greedy_requests() {
  return {request_with({.seed = 1}), request_with({.seed = 2}), request_with({.seed = 3})};
}

/// Greedy and not, with logits that change, and such as are told.
std::vector<Request> mixed_requests() {
  std::vector<Request> requests = greedy_requests();
  requests.push_back(request_with({.temperature = 0.8F, .seed = 4}));
  requests.push_back(request_with({.temperature = 2.0F, .seed = 5}));
  requests.push_back(request_with({.seed = 6, .presence_penalty = 1.0F}));
  requests.push_back(request_with({.temperature = 1.0F, .seed = 7, .top_k = 4}));
  requests.push_back(request_with({.seed = 8, .logprobs = 2}));
  requests.push_back(request_with({.seed = 9, .prompt_logprobs = true}));
  requests.push_back(request_with({.temperature = 0.5F, .seed = 10, .margins = true}));
  return requests;
}

class FastPicks : public ::testing::TestWithParam<Replayer> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  /// Each request alone, where all logits are written, since digests are made of them.
  Tokens alone(const gpu::GpuModels& models, const std::vector<Request>& requests) const {
    Tokens tokens;
    for (const Request& request : requests) {
      const Picked picked = pick(GetParam(), models, {.digests = true}, {request});
      EXPECT_EQ(picked.heads.candidates, 0);
      EXPECT_GT(picked.heads.both + picked.heads.logits, 0);
      tokens.push_back(picked.tokens.front());
    }
    return tokens;
  }

  static model::ModelConfig config(int layers) {
    model::ModelConfig config = fast_shape("llama").config;
    config.layers = layers;
    return config;
  }

  FastModel model_{config(2), quant::WeightType::bf16};
};

TEST_P(FastPicks, write_no_logits_where_all_pick_the_largest) {
  const std::vector<Request> requests = greedy_requests();
  const Tokens expected = alone(model_.on_gpu(), requests);
  for (const bool graphs : {false, true}) {
    const Way way{.drafts = graphs ? 0U : 3U, .graphs = graphs, .checked = !graphs};
    const Picked picked = pick(GetParam(), model_.on_gpu(), way, requests);
    EXPECT_EQ(picked.tokens, expected);
    EXPECT_GT(picked.heads.candidates, 0);
    EXPECT_EQ(picked.heads.both + picked.heads.logits, 0);
    EXPECT_EQ(picked.heads.picks_from_candidates, picked.heads.candidates);
    EXPECT_EQ(picked.heads.picks_from_logits, 0);
  }
}

TEST_P(FastPicks, are_the_same_whoever_wants_logits) {
  const std::vector<Request> requests = mixed_requests();
  const Tokens expected = alone(model_.on_gpu(), requests);
  for (const bool digests : {false, true}) {
    for (const bool graphs : {false, true}) {
      const Way way{.digests = digests, .drafts = graphs ? 0U : 3U, .graphs = graphs};
      const Picked picked = pick(GetParam(), model_.on_gpu(), way, requests);
      EXPECT_EQ(picked.tokens, expected) << "digests " << digests << " graphs " << graphs;
      EXPECT_GT(picked.heads.both, 0);
      EXPECT_EQ(picked.heads.picks_from_candidates, picked.heads.both + picked.heads.candidates);
      EXPECT_GT(picked.heads.logits, 0) << "they change";
      EXPECT_EQ(picked.heads.picks_from_logits, picked.heads.logits);
      EXPECT_EQ(picked.heads.processed, picked.heads.logits);
    }
  }
}

/// With drafts there are more rows with logits than project_narrow takes.
TEST_P(FastPicks, are_the_same_in_a_large_batch) {
  std::vector<Request> requests;
  for (std::uint64_t seed = 0; seed < 17; ++seed) {
    requests.push_back(request_with({.temperature = seed == 15 ? 1.0F : 0.0F, .seed = seed}));
  }
  const Tokens expected =
      pick(GetParam(), model_.on_gpu(), {.digests = true, .batch = 17}, requests).tokens;
  const Picked picked = pick(GetParam(), model_.on_gpu(), {.drafts = 3, .batch = 17}, requests);
  EXPECT_EQ(picked.tokens, expected);
  EXPECT_GT(picked.heads.candidates, 0);
  EXPECT_GT(picked.heads.both, 0);
}

/// The draft model proposes by candidates, too.
TEST_P(FastPicks, of_a_draft_model_need_no_logits) {
  FastModel draft(config(1), quant::WeightType::bf16);
  const std::vector<Request> requests = greedy_requests();
  const Tokens expected = alone(model_.on_gpu(), requests);
  const gpu::GpuModels both(model_.on_gpu(), draft.on_gpu());
  const Picked without = pick(GetParam(), both, {.drafts = 3}, requests);
  EXPECT_EQ(without.tokens, expected);
  EXPECT_EQ(without.heads.both + without.heads.logits, 0);
  const Picked with = pick(GetParam(), both, {.digests = true, .drafts = 3}, requests);
  EXPECT_EQ(with.tokens, expected);
  EXPECT_GT(with.heads.both, 0) << "the model's";
  EXPECT_GT(with.heads.candidates, 0) << "the drafts'";
}

TEST(FastMemory, is_counted_with_the_candidates) {
  FastModel model(fast_shape("llama").config, quant::WeightType::bf16);
  const executor::ExecutorOptions options{.cache = {.num_blocks = 20, .block_size = 4},
                                          .batch = {.max_batch_size = 3, .max_batch_tokens = 20},
                                          .draft_layers = 1,
                                          .kv_type = numerics::KvType::bf16};
  sim::SimDevice device({.device = sim::find_device("h200").value()});
  const auto executor = gpu::GpuExecutor::create(device, model.on_gpu(), options).value();
  const gpu::GpuMemory memory = gpu::GpuExecutor::memory(model.on_gpu(), options);
  EXPECT_EQ(device.statistics().bytes_allocated,
            memory.all().device + memory.scratch.pinned + memory.kv.pinned);
}

INSTANTIATE_TEST_SUITE_P(On, FastPicks, ::testing::ValuesIn(kReplayers),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace forge::testing
