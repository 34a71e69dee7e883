// That models in fast numerics reach what their kernels have to get right: rings that turn twice
// and a tail, rows on both sides of every switch of kernel, experts of no row and of one, several
// spans, windows that begin within a tile of keys. What was reached is counted from the launches
// (launch_reach.h), and what came out there is the same in chunks.
#include <gmock/gmock.h>

#include <initializer_list>
#include <optional>

#include "gpu/fast_runs.h"
#include "gpu/launch_reach.h"

namespace forge::testing {
namespace {

using quant::WeightType;
using ::testing::IsSupersetOf;
using enum gpu::KernelId;

class FastReach : public ::testing::Test {
 protected:
  /// Runs a prompt alone in one chunk and in chunks of seven or so, with the same result. Drafts
  /// and prefix hits would change which rows there are.
  void expect_in_chunks(FastModel& model, std::uint32_t prompt, std::uint32_t chunk) {
    Place place{.gpu = {.graphs = false}, .scheduler = roomy(16)};
    place.watch = [&](const gpu::KernelLaunch& launch) { reach_.note(launch); };
    const Request request = request_of(model.config().vocabulary_size, prompt, 0, 2);
    const Output whole = run(model.on_gpu(), place, {request}).of.front();
    place.scheduler.prefill_chunk_size = chunk;
    EXPECT_EQ(run(model.on_gpu(), place, {request}).of.front(), whole) << prompt << " rows";
  }

  /// Where kernels, or paths of attention, take over from one another: products from 17 rows, of
  /// experts from 5, large blocks from 65, attend_wide from 65 pairs.
  void expect_in_chunks_around_switches(FastModel& model,
                                        std::initializer_list<std::uint32_t> prompts) {
    for (const std::uint32_t prompt : prompts) expect_in_chunks(model, prompt, 7);
    expect_reference(model, {.scheduler = roomy(16)}, 9);
  }

  LaunchReach reach_;
};

/// Of K inputs; little else.
model::ModelConfig of_inputs(int inputs) {
  model::ModelConfig config = fast_shape("llama").config;
  config.vocabulary_size = 40;
  config.hidden_size = inputs;
  config.layers = 1;
  config.ffn_size = 32;
  config.attention = model::GroupedQueryConfig{.heads = 2, .kv_heads = 2, .head_size = 16};
  return config;
}

model::ModelConfig with_experts(model::ModelConfig config) {
  config.ffn_size = 0;
  config.experts = model::ExpertsConfig{.experts = 3,
                                        .experts_per_token = 2,
                                        .expert_size = 32,
                                        .normalized = true,
                                        .dense_layers = {false}};
  return config;
}

constexpr int kRowInputs =
    2 * gpu::ProjectNarrowArgs::stages(false) * gpu::ProjectNarrowArgs::kStageInputs + 24;
constexpr int kSmallInputs =
    2 * gpu::block_of(gpu::WideKind::small).stages * gpu::ProjectWideArgs::kStageInputs + 24;
constexpr int kCodeInputs = 2592;  // five stages of 256 inputs, twice, and a group
constexpr int kFewInputs = 8224;   // two rounds of 2048 inputs, twice, and a group

TEST_F(FastReach, rings_turn_twice_and_rows_are_on_both_sides_of_each_switch) {
  FastModel rows(of_inputs(kRowInputs), WeightType::bf16);
  expect_in_chunks_around_switches(rows, {1, 7, 8, 9, 16, 17, 64, 65});
  model::ModelConfig of_many_outputs = of_inputs(kSmallInputs);
  of_many_outputs.ffn_size = 2056;
  FastModel outputs(of_many_outputs, WeightType::bf16);
  expect_in_chunks(outputs, 17, 9);
  EXPECT_THAT(reach_.of("project_narrow").rows, IsSupersetOf({1, 7, 8, 9, 16}));
  EXPECT_THAT(reach_.of("project_wide slim").rows, IsSupersetOf({17, 64}));
  EXPECT_THAT(reach_.of("project_wide large").rows, IsSupersetOf({65}));
  EXPECT_THAT(reach_.of("project_wide small").rows, IsSupersetOf({17}));
  EXPECT_THAT(reach_.of("attend_spans").rows, IsSupersetOf({1, 7, 8, 9, 64}));
  EXPECT_THAT(reach_.of("attend_wide").rows, IsSupersetOf({65}));
  for (const auto& [kernel, reach] : reach_.kernels()) {
    EXPECT_EQ(reach.turns_twice_with_tail, kernel.starts_with("project_")) << kernel;
  }
}

TEST_F(FastReach, rings_of_codes_turn_twice_and_rows_are_on_both_sides_of_each_switch) {
  FastModel codes(of_inputs(kCodeInputs), WeightType::q8_0);
  expect_in_chunks_around_switches(codes, {1, 4, 5, 7, 8, 9, 16, 17, 64, 65});
  EXPECT_THAT(reach_.of("project_codes_few").rows, IsSupersetOf({1, 4}));
  EXPECT_THAT(reach_.of("project_codes_narrow").rows, IsSupersetOf({5, 7, 8, 9, 16}));
  EXPECT_THAT(reach_.of("project_codes_wide").rows, IsSupersetOf({17, 64, 65}));
  EXPECT_TRUE(reach_.of("project_codes_narrow").turns_twice_with_tail);
  EXPECT_TRUE(reach_.of("project_codes_wide").turns_twice_with_tail);
}

/// Where a block has no room for four rows of so many inputs, project_codes_narrow takes them.
TEST_F(FastReach, rounds_of_few_rows_of_codes_turn_twice) {
  FastModel codes(of_inputs(kFewInputs), WeightType::q8_0);
  expect_in_chunks(codes, 4, 3);
  EXPECT_TRUE(reach_.of("project_codes_few").turns_twice_with_tail);
  EXPECT_FALSE(reach_.kernels().contains("project_codes_narrow"));
  const Request request = request_of(codes.config().vocabulary_size, 4, 0, 2);
  const Outputs of_h200 = run(codes.on_gpu(), {.scheduler = roomy(16)}, {request});
  const Outputs small =
      run(codes.on_gpu(), {.shared_bytes = 98 << 10, .scheduler = roomy(16)}, {request});
  EXPECT_GT(small.launches(project_codes_narrow), 0U);
  EXPECT_GT(small.launches(project_codes_few), 0U);  // of one row
  EXPECT_EQ(small.of.front(), of_h200.of.front());
}

TEST_F(FastReach, rings_of_experts_turn_twice_and_experts_have_no_row_or_one) {
  FastModel rows(with_experts(of_inputs(kRowInputs)), WeightType::bf16);
  expect_in_chunks_around_switches(rows, {1, 4, 5, 8, 65});
  expect_in_chunks(rows, 100, 30);  // 67 rows of an expert, in the mean
  EXPECT_THAT(reach_.expert_rows(), IsSupersetOf({0, 1}));
  for (const char* const kernel :
       {"project_experts_narrow", "project_experts_wide small", "project_experts_wide large"}) {
    EXPECT_TRUE(reach_.of(kernel).turns_twice_with_tail) << kernel;
    EXPECT_THAT(reach_.of(kernel).rows, ::testing::Not(::testing::IsEmpty())) << kernel;
  }
}

TEST_F(FastReach, rings_of_experts_of_codes_turn_twice_and_experts_have_no_row_or_one) {
  FastModel codes(with_experts(of_inputs(kCodeInputs)), WeightType::q8_0);
  expect_in_chunks_around_switches(codes, {1, 7, 8, 9, 64, 65});
  EXPECT_THAT(reach_.expert_rows(), IsSupersetOf({0, 1}));
  for (const char* const kernel : {"project_experts_codes_narrow", "project_experts_codes_wide"}) {
    EXPECT_TRUE(reach_.of(kernel).turns_twice_with_tail) << kernel;
  }
}

TEST_F(FastReach, contexts_have_three_spans_and_windows_begin_within_a_tile) {
  for (const char* const name : {"llama", "gemma", "latent"}) {
    SCOPED_TRACE(name);
    FastShape shape = fast_shape(name);
    if (auto* const own = std::get_if<model::GroupedQueryConfig>(&shape.config.attention)) {
      if (own->sliding_window > 0) own->sliding_window = 300;
    }
    FastModel model(shape.config, WeightType::bf16);
    expect_in_chunks(model, 590, 101);
    expect_in_chunks(model, 550, 549);
  }
  for (const auto& [kernel, reach] : reach_.kernels()) {
    if (!kernel.starts_with("attend_")) continue;
    EXPECT_GE(reach.spans_with_ragged_last, 3) << kernel;
    EXPECT_EQ(reach.begins_inside_tile, kernel != "attend_latent_spans") << kernel;
  }
}

}  // namespace
}  // namespace forge::testing
