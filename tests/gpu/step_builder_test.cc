// How slices become rows, tiles and slabs on the device.
#include "step_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forge/executor/drafter.h"
#include "forge/executor/sequence_table.h"
#include "forge/reference/seeded_model.h"

namespace forge::gpu {
namespace {

/// A step of new sequences 1, 2, ..., each with a prompt and a slice of it.
struct Story {
  executor::ExecutorOptions options{.cache = {.num_blocks = 64, .block_size = 16}, .drafts = 3};
  executor::SequenceTable sequences{{64, 16}};
  StepPlan plan;
  executor::StepSlices step;
  SamplingParams sampling{.temperature = 0.5F};  ///< of the sequences that are added
  GpuNumerics numerics = GpuNumerics::canonical;

  /// The sequence runs all of its prompt but `left` tokens, and `drafts`.
  void add(std::uint32_t prompt, std::uint32_t left = 0, std::uint32_t drafts = 0) {
    const SeqId seq(plan.slices.size() + 1);
    Request request;
    for (std::uint32_t i = 0; i < prompt; ++i) request.prompt.emplace_back(100 * seq.value + i);
    request.sampling = sampling;
    request.sampling.seed = seq.value;
    sequences.begin(seq, request);
    plan.admitted.push_back({seq, 0});
    const auto first = static_cast<std::uint32_t>(plan.appended_blocks.size());
    const std::uint32_t blocks = (prompt + drafts + 15) / 16;
    for (std::uint32_t i = 0; i < blocks; ++i) plan.appended_blocks.emplace_back(first + i);
    plan.tables.push_back({seq, 0, first, blocks});
    plan.slices.push_back({seq, 0, prompt - left + drafts, drafts, left == 0});
  }

  StepInput build(std::uint32_t slab_rows = 512) {
    Capacity capacity(reference::model_config({}), options, {.numerics = numerics});
    capacity.slab_rows = slab_rows;
    StepInput input(capacity);
    sequences.apply(plan);
    executor::LayerSkipDrafter drafter(options.draft_layers);
    step.begin(plan, sequences, drafter);
    build_passes(step, capacity, input);
    return input;
  }
};

/// "2+1" is a slab of two decode rows and one tile; its tiles follow as first:count.
std::string text_of(const StepInput& input) {
  std::string text;
  for (const Slab& slab : input.slabs) {
    if (!text.empty()) text += " | ";
    text += std::to_string(slab.counts.decode_rows) + "+" +
            std::to_string(slab.counts.prompt_tiles) + " of " + std::to_string(slab.counts.rows);
    for (std::uint32_t i = 0; i < slab.counts.prompt_tiles; ++i) {
      const PromptTile& tile = input.tiles[slab.first_tile + i];
      text += " " + std::to_string(tile.first) + ":" + std::to_string(tile.count);
    }
    if (slab.counts.logit_rows > 0) text += " L";
    for (std::uint32_t i = 0; i < slab.counts.logit_rows; ++i) {
      text += " " + std::to_string(input.logits[slab.first_logits + i].row);
    }
  }
  return text;
}

TEST(BuildPasses, rows_that_are_alone_in_their_slice_come_first) {
  Story story;
  story.add(3);
  story.add(1);
  story.add(9, /*left=*/8);
  EXPECT_EQ(text_of(story.build()), "2+1 of 5 2:3 L 0 4");
}

TEST(BuildPasses, tiles_have_at_most_eight_rows_of_one_sequence) {
  Story story;
  story.add(17);
  story.add(10, /*left=*/1);
  EXPECT_EQ(text_of(story.build()), "0+5 of 26 0:8 8:8 16:1 17:8 25:1 L 16");
}

TEST(BuildPasses, tiles_have_as_many_rows_as_the_capacity_says) {
  Story story;
  story.add(1);
  story.add(300);
  story.add(10, /*left=*/1);
  story.numerics = GpuNumerics::fast;
  const StepInput input = story.build();
  EXPECT_EQ(text_of(input), "1+4 of 310 1:128 129:128 257:44 301:9 L 0 300");
  EXPECT_EQ(input.slabs[0].tile_rows, 128U);
  EXPECT_EQ(input.slabs[0].longest_in_tile, 300U);
}

/// Each slab knows its own longest tile, and context.
TEST(BuildPasses, the_longest_tile_of_a_slab_is_known) {
  Story story;
  story.add(19, /*left=*/0);
  const StepInput input = story.build(12);
  EXPECT_EQ(text_of(input), "0+2 of 12 0:8 8:4 | 0+1 of 7 0:7 L 6");
  EXPECT_EQ(input.slabs[0].tile_rows, 8U);
  EXPECT_EQ(input.slabs[0].longest_in_tile, 12U);
  EXPECT_EQ(input.slabs[1].tile_rows, 7U);
  EXPECT_EQ(input.slabs[1].longest_in_tile, 19U);
}

TEST(BuildPasses, a_pass_with_more_rows_than_a_slab_is_cut_and_tiles_with_it) {
  Story story;
  story.add(1);
  story.add(7);
  EXPECT_EQ(text_of(story.build(4)), "1+1 of 4 1:3 L 0 | 0+1 of 4 0:4 L 3");
}

TEST(BuildPasses, drafts_run_pass_by_pass_and_then_all_are_verified) {
  Story story;
  story.add(2, 0, /*drafts=*/2);
  story.add(1);
  story.add(1, 0, /*drafts=*/1);
  const StepInput input = story.build();
  EXPECT_EQ(text_of(input),
            "1+1 of 3 1:2 L 0 2 | "  // the known tokens of the first and the last
            "1+0 of 1 L 0 | "        // the draft of the first
            "1+2 of 7 1:4 5:2 L 0 2 3 4 5 6");
  EXPECT_TRUE(input.slabs[1].pass.proposes);
  EXPECT_FALSE(input.slabs[2].pass.proposes);
}

TEST(BuildPasses, drafts_are_named_by_their_place_and_picks_follow_the_slices) {
  Story story;
  story.add(2, 0, /*drafts=*/2);
  story.add(1, 0, /*drafts=*/1);
  const StepInput input = story.build();
  const Slab& second = input.slabs[1];
  const RowInput& drafted = input.rows[second.first_row];
  EXPECT_EQ(drafted.draft, 0);
  EXPECT_EQ(drafted.position, 2U);
  const LogitInput& proposes = input.logits[second.first_logits];
  EXPECT_EQ(proposes.draft, 1);
  EXPECT_EQ(proposes.position, 3U);
  EXPECT_EQ(proposes.pick, 1U) << "where the model's pick for that position follows";

  const Slab& target = input.slabs[2];
  std::vector<std::uint32_t> picks;
  for (std::uint32_t i = 0; i < target.counts.logit_rows; ++i) {
    const LogitInput& logits = input.logits[target.first_logits + i];
    EXPECT_EQ(logits.draft, RowInput::kNoDraft);
    picks.push_back(logits.pick);
  }
  EXPECT_EQ(picks, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(BuildPasses, rows_carry_token_position_and_table_of_their_sequence) {
  Story story;
  story.add(2);
  story.add(1);
  const StepInput input = story.build();
  EXPECT_EQ(input.rows[0].token, 200U);
  EXPECT_EQ(input.rows[0].table, 1U);
  EXPECT_EQ(input.rows[2].token, 101U);
  EXPECT_EQ(input.rows[2].position, 1U);
  EXPECT_EQ(input.rows[2].table, 0U);
  EXPECT_EQ(input.logits[1].seed, 1U);
  EXPECT_EQ(input.logits[1].position, 2U) << "of the token that is picked";
}

TEST(BuildPasses, the_longest_context_of_the_decode_rows_is_known) {
  Story story;
  story.add(5, /*left=*/4);
  story.add(40);
  EXPECT_EQ(story.build().slabs[0].longest_decode, 1U);
}

/// What the logits of each slab are for.
std::vector<LogitsUse> uses_of(const StepInput& input) {
  std::vector<LogitsUse> uses;
  for (const Slab& slab : input.slabs) uses.push_back(slab.logits_use);
  return uses;
}

TEST(BuildPasses, logits_are_for_what_the_row_needs_that_needs_most) {
  using enum LogitsUse;
  using Uses = std::vector<LogitsUse>;
  const auto uses_with = [](std::initializer_list<SamplingParams> all) {
    Story story;
    story.numerics = GpuNumerics::fast;
    for (const SamplingParams& each : all) {
      story.sampling = each;
      story.add(3);
    }
    return uses_of(story.build());
  };
  const SamplingParams greedy;
  const SamplingParams warm{.temperature = 1};
  const SamplingParams changed{.presence_penalty = 1};
  EXPECT_EQ(uses_with({greedy, greedy}), Uses{largest});
  EXPECT_EQ(uses_with({greedy, warm, greedy}), Uses{read});
  EXPECT_EQ(uses_with({greedy, changed, warm}), Uses{processed});
  EXPECT_EQ(uses_with({greedy, {.logprobs = 0}}), Uses{read});
  EXPECT_EQ(uses_with({{.margins = true}, greedy}), Uses{read});
  EXPECT_EQ(uses_with({{.prompt_logprobs = true}}), Uses{read});
}

/// Digests are of the pass that verifies. A prompt that goes on has no logits.
TEST(BuildPasses, logits_are_read_for_digests_and_where_there_are_no_candidates) {
  using enum LogitsUse;
  for (const bool digests : {false, true}) {
    for (const GpuNumerics numerics : {GpuNumerics::fast, GpuNumerics::canonical}) {
      Story story;
      story.sampling = {};
      story.numerics = numerics;
      story.options.digest_logits = digests;
      story.add(1, 0, /*drafts=*/1);
      const LogitsUse verifies = digests || numerics == GpuNumerics::canonical ? read : largest;
      EXPECT_EQ(uses_of(story.build()), (std::vector{largest, verifies}));
      Story prompt;
      prompt.options = story.options;
      prompt.add(9, /*left=*/8);
      EXPECT_EQ(uses_of(prompt.build()), std::vector{largest});
    }
  }
}

using BuildPassesDeathTest = ::testing::Test;

TEST(BuildPassesDeathTest, more_than_the_executor_has_room_for_is_refused) {
  Story story;
  story.options.batch.max_batch_tokens = 4;
  story.add(5);
  EXPECT_DEATH(story.build(), "tokens=5 max_batch_tokens=4");
  Story wide;
  wide.options.batch.max_batch_size = 1;
  wide.add(1);
  wide.add(1);
  EXPECT_DEATH(wide.build(), "slices=2 max_batch_size=1");
  Story drafting;
  drafting.options.drafts = 1;
  drafting.options.batch.max_batch_size = 1;
  drafting.add(1, 0, 2);
  EXPECT_DEATH(drafting.build(), "drafts=2 of 1");
}

}  // namespace
}  // namespace forge::gpu
