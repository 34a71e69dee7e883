// Models in fast numerics, from a token to logits: the bits are those of the definition
// (fast_reference.h), alone; and a request's depend on the request alone, whatever is scheduled
// beside it and however.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "forge/checkpoint/checkpoint.h"
#include "gpu/fast_runs.h"
#include "gpu/golden_folder.h"

namespace forge::testing {
namespace {

using numerics::KvType;
using quant::WeightType;

struct Param {
  Replayer device;
  std::string shape;
  friend std::ostream& operator<<(std::ostream& out, const Param& param) {
    return out << name_of(param.device) << ' ' << param.shape;
  }
};

class FastModels : public ::testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam().device); !why.empty()) GTEST_SKIP() << why;
  }

  Place place(KvType kv_type, const SchedulerConfig& scheduler) const {
    return {.device = GetParam().device, .kv_type = kv_type, .scheduler = scheduler};
  }
};

TEST_P(FastModels, have_the_bits_of_the_definition) {
  const FastShape shape = fast_shape(GetParam().shape);
  FastModel bf16(shape.config, WeightType::bf16);
  expect_reference(bf16, place(KvType::bf16, roomy(16)), 45);
  FastModel f16(shape.config, WeightType::f16);
  expect_reference(f16, place(KvType::f16, roomy(5)), 30);
  expect_reference(f16, place(KvType::bf16, roomy(5)), 3);
}

/// Three spans and a ragged last tile, windows that begin within a later span; contexts that are
/// split among thread blocks, in graphs, and such as go through one block; drafts verified, chunks
/// that end within a tile.
TEST_P(FastModels, have_them_over_several_spans) {
  FastShape shape = fast_shape(GetParam().shape);
  if (auto* const own = std::get_if<model::GroupedQueryConfig>(&shape.config.attention)) {
    if (own->sliding_window > 0) own->sliding_window = 300;
    own->heads = std::min(own->heads, 4 * own->kv_heads);  // more take long
  }
  shape.config.layers = 2;
  FastModel model(shape.config, WeightType::bf16);
  const Output output = expect_reference(model, place(KvType::bf16, roomy(16)), 590);
  Place beside = place(KvType::bf16, {.cache = {.num_blocks = 150, .block_size = 8},
                                      .batch = {.max_batch_size = 2, .max_batch_tokens = 150},
                                      .prefill_chunk_size = 101});
  beside.drafts = 2;
  const int vocabulary = shape.config.vocabulary_size;
  const std::vector<Request> both{request_of(vocabulary, 590, 0, 4),
                                  request_of(vocabulary, 300, 4, 20)};
  const Outputs outputs = run(model.on_gpu(), beside, both);
  EXPECT_EQ(outputs.of.front(), output);
  EXPECT_GT(outputs.events.drafts, 0);
  if (outputs.estimate) {
    EXPECT_GT(outputs.launches(attention_kernels(shape.config).prompts), 0U);
  }
}

/// Three spans and a ragged last tile. Drafts are verified in tiles, spans by blocks of their own
/// as those of decode rows: whatever attend_spans begins, merge_spans ends.
TEST_P(FastModels, have_them_where_drafts_are_verified_over_several_spans) {
  FastShape shape = fast_shape(GetParam().shape);
  shape.config.layers = 2;
  FastModel model(shape.config, WeightType::bf16);
  const Request request = request_of(shape.config.vocabulary_size, 560, 0, 12);
  const Output alone = run(model.on_gpu(), place(KvType::bf16, roomy(16)), {request}).of.front();
  Place drafting = place(KvType::bf16, roomy(16));
  drafting.drafts = 3;
  const Outputs outputs = run(model.on_gpu(), drafting, {request});
  EXPECT_EQ(outputs.of.front(), alone);
  EXPECT_GT(outputs.events.drafts, 0);
  if (!outputs.estimate) return;
  EXPECT_GT(outputs.launches(gpu::KernelId::merge_spans), 0U);
  const auto [decodes, prompts] = attention_kernels(shape.config);
  const std::uint64_t of_prompt = decodes == prompts ? 2 : 0;  // one for each layer
  EXPECT_EQ(outputs.launches(decodes), outputs.launches(gpu::KernelId::merge_spans) + of_prompt);
}

/// Chunks, prefix hits, swaps, recomputes, drafts, blocks of other sizes, with and without graphs
/// and overlap, in slabs of few rows, threads in another order under the checker.
TEST_P(FastModels, depend_on_the_request_alone) {
  const FastShape shape = fast_shape(GetParam().shape);
  FastModel model(shape.config, WeightType::bf16);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 7; ++i) {
    requests.push_back(
        request_of(shape.config.vocabulary_size, 11 + 7 * (i % 4), i, 10 + 3 * (i % 3)));
  }
  std::vector<Output> alone;
  for (const Request& request : requests) {
    alone.push_back(run(model.on_gpu(), place(KvType::bf16, roomy(16)), {request}).of.front());
  }
  SchedulerConfig crowded{.cache = {.num_blocks = 20, .block_size = 4, .num_host_blocks = 12},
                          .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
                          .prefill_chunk_size = 9};
  Events events;
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    crowded.preemption = preemption;
    Place together = place(KvType::bf16, crowded);
    const bool swaps = preemption == PreemptionPolicy::swap;
    together.drafts = swaps ? 3 : 0;
    together.gpu = {.graphs = !swaps, .overlap = !swaps, .chunk_rows = swaps ? 7U : 512U};
    together.checked = swaps && GetParam().shape.starts_with("qwen");
    const Outputs outputs = run(model.on_gpu(), together, requests);
    events.add(outputs.events);
    EXPECT_EQ(outputs.statistics.graph_steps > 0, !swaps);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(outputs.of[i], alone[i]) << "request " << i;
    }
  }
  EXPECT_GT(events.chunks, 0);
  EXPECT_GT(events.prefix_hits, 0);
  EXPECT_GT(events.swaps_in, 0);
  EXPECT_GT(events.recomputes, 0);
  EXPECT_GT(events.drafts, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, FastModels, ::testing::ValuesIn([] {
                           std::vector<Param> params;
                           for (const Replayer device : kReplayers) {
                             for (const FastShape& shape : fast_shapes())
                               params.push_back({device, shape.name});
                           }
                           return params;
                         }()),
                         [](const auto& instance) {
                           return std::string(name_of(instance.param.device)) + "_" +
                                  instance.param.shape;
                         });

/// Of a model whose norms come before: the steps' own launches (tables, embedding, the first rows,
/// the rows with logits, the head, the digest, the pick) and 7 for each layer while contexts are
/// split among blocks, 6 where one block goes through all of a context.
TEST(FastDevices, take_seven_launches_for_a_layer_that_decodes) {
  const auto launches = [](int layers, std::uint32_t prompt) {
    model::ModelConfig config = fast_shape("llama").config;
    config.layers = layers;
    FastModel model(config, WeightType::bf16);
    const auto with = [&](std::uint32_t tokens) {
      const Request request = request_of(config.vocabulary_size, prompt, 0, tokens);
      return run(model.on_gpu(), {.scheduler = roomy(16)}, {request}).statistics.launches;
    };
    return with(6) - with(5);  // of one step
  };
  EXPECT_EQ(launches(3, 300) - launches(2, 300), 7U);
  EXPECT_EQ(launches(3, 30) - launches(2, 30), 6U);
}

/// Of another generation of tensor cores, and with less shared memory.
TEST(FastDevices, have_the_bits_of_their_own_step) {
  // With more than 64 rows for a matrix, and more than 16, in the mean, for that of an expert.
  for (const auto& [shape, prompt] : {std::pair("llama", 80U), std::pair("qwen_moe", 40U)}) {
    FastModel model(fast_shape(shape).config, WeightType::bf16);
    const Output of_h200 = expect_reference(model, {.scheduler = roomy(16)}, prompt);
    Output of_ampere;
    for (const char* const device : {"a100", "l4"}) {
      const Output output =
          expect_reference(model, {.simulated = device, .scheduler = roomy(16)}, prompt);
      EXPECT_NE(output, of_h200);
      if (of_ampere.tokens.empty()) of_ampere = output;
      EXPECT_EQ(output, of_ampere);
    }
  }
}

/// Where blocks of attend_wide find none, attend_spans takes prompts as well.
TEST(FastDevices, with_room_for_few_rows_have_the_same_bits) {
  model::ModelConfig config = fast_shape("llama").config;
  std::get<model::GroupedQueryConfig>(config.attention).head_size = 128;
  FastModel model(config, WeightType::bf16);
  const Place small{.shared_bytes = 98 << 10, .scheduler = roomy(16)};
  const Request request = request_of(config.vocabulary_size, 80, 0, 4);
  const Outputs outputs = run(model.on_gpu(), small, {request});
  EXPECT_EQ(outputs.launches(gpu::KernelId::attend_wide), 0U);
  EXPECT_EQ(outputs.of.front(),
            run(model.on_gpu(), {.scheduler = roomy(16)}, {request}).of.front());
}

TEST(FastDevices, without_room_for_a_block_are_refused) {
  model::ModelConfig config = fast_shape("llama").config;
  std::get<model::GroupedQueryConfig>(config.attention).head_size = 256;
  FastModel model(config, WeightType::bf16);
  const auto device = open({.simulated = "l4"});
  const auto made = gpu::GpuExecutor::create(*device, model.on_gpu(),
                                             {.draft_layers = 1, .kv_type = KvType::bf16}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(to_string(made.error()),
            "attend_spans: with keys of 256 numbers a block takes 143616 bytes of shared memory, "
            "accepted with fast numerics: up to 101376 (device simulated NVIDIA L4 24GB)");
}

/// The models of tests/golden whose shapes tensor cores take, their weights rounded to bf16.
TEST(FastGoldens, have_the_bits_of_the_definition) {
  for (const char* const name : {"llama3_rope", "mistral_sliding", "phi3_long", "qwen3"}) {
    SCOPED_TRACE(name);
    const auto checkpoint =
        checkpoint::Checkpoint::open(golden("models/" + std::string(name))).value();
    FastModel model(checkpoint.config(), checkpoint.model(), WeightType::bf16);
    expect_reference(model, {.scheduler = roomy(16)}, 33);
  }
}

}  // namespace
}  // namespace forge::testing
