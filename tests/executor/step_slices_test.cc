// The rows of a step, pass by pass, and what a verdict makes of them.
#include "forge/executor/step_slices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forge/executor/drafter.h"
#include "forge/executor/step_answer.h"

namespace forge::executor {
namespace {

/// Sequence 1 has a prompt of four tokens in the batch, sequence 2 one of three.
class StepSlicesTest : public ::testing::Test {
 protected:
  StepSlicesTest() {
    for (const std::uint64_t seq : {1U, 2U}) {
      Request request;
      for (std::uint32_t i = 0; i < 5 - seq; ++i) request.prompt.emplace_back(10 * seq + i);
      request.max_new_tokens = 20;
      sequences_.begin(SeqId(seq), request);
    }
    plan_.admitted = {{SeqId(1), 0}, {SeqId(2), 0}};
    plan_.tables = {{SeqId(1), 0, 0, 2}, {SeqId(2), 0, 2, 2}};
    plan_.appended_blocks = {BlockId(0), BlockId(1), BlockId(2), BlockId(3)};
  }

  void begin(const std::vector<Slice>& slices) {
    plan_.slices = slices;
    sequences_.apply(plan_);
    step_.begin(plan_, sequences_, drafter_);
  }
  /// Rows of a slice by pass, "0..3 L3": positions 0 to 3, with logits from 3 on.
  std::vector<std::string> rows(std::size_t slice) {
    std::vector<std::string> passes;
    for (const Pass& pass : step_.passes()) {
      passes.emplace_back("-");
      for (const RowRun& run : step_.runs(pass)) {
        if (run.slice != &step_.all()[slice]) continue;
        passes.back() = std::to_string(run.first) + ".." + std::to_string(run.end - 1);
        if (run.logits_count() > 0) passes.back() += " L" + std::to_string(run.first_logits);
      }
    }
    return passes;
  }
  using Passes = std::vector<std::string>;

  LayerSkipDrafter drafter_{2};
  SequenceTable sequences_{{16, 4}};
  StepPlan plan_;
  StepSlices step_;
};

TEST_F(StepSlicesTest, without_drafts_there_is_one_pass) {
  begin({{SeqId(1), 0, 4, 0, true}, {SeqId(2), 0, 2, 0, false}});
  EXPECT_FALSE(step_.passes_propose());
  EXPECT_EQ(step_.pick_count(), 1U);
  EXPECT_EQ(rows(0), Passes{"0..3 L3"});
  EXPECT_EQ(rows(1), Passes{"0..1"});
}

TEST_F(StepSlicesTest, drafts_run_one_by_one_and_are_verified_together) {
  begin({{SeqId(1), 0, 7, 3, true}, {SeqId(2), 0, 4, 1, true}});
  EXPECT_TRUE(step_.passes_propose());
  EXPECT_EQ(step_.draft_count(), 4U);
  EXPECT_EQ(step_.pick_count(), 6U);
  EXPECT_EQ(rows(0), (Passes{"0..3 L3", "4..4 L4", "5..5 L5", "0..6 L3"}));
  EXPECT_EQ(rows(1), (Passes{"0..2 L2", "-", "-", "0..3 L2"}));
  EXPECT_EQ(step_.all()[1].first_draft, 3U);
  EXPECT_EQ(step_.all()[1].first_pick, 4U);
}

TEST_F(StepSlicesTest, a_prompt_that_is_told_has_logits_in_all_rows) {
  sequences_.begin(SeqId(3), {.prompt = std::vector<TokenId>(4, TokenId(5)),
                              .sampling = {.prompt_logprobs = true}});
  plan_.admitted.push_back({SeqId(3), 0});
  plan_.appended_blocks.emplace_back(15U);
  plan_.tables.push_back(
      {SeqId(3), 0, static_cast<std::uint32_t>(plan_.appended_blocks.size() - 1), 1});
  begin({{SeqId(1), 0, 4, 0, true}, {SeqId(2), 0, 2, 0, false}, {SeqId(3), 0, 3, 0, false}});
  EXPECT_EQ(rows(2), Passes{"0..2 L0"});
  EXPECT_EQ(step_.pick_count(), 1U);
  EXPECT_EQ(step_.logits_count(), 4U);
  EXPECT_EQ(step_.all()[2].first_logits, 1U);
  EXPECT_EQ(step_.all()[2].told, 3U);
}

TEST_F(StepSlicesTest, a_token_is_a_known_one_or_a_draft) {
  begin({{SeqId(1), 0, 6, 2, true}, {SeqId(2), 0, 4, 1, true}});
  for (std::uint32_t i = 0; i < 3; ++i) step_.drafts()[i] = TokenId(70 + i);
  EXPECT_EQ(step_.token(step_.passes().back(), step_.all()[0], 3), TokenId(13));
  EXPECT_EQ(step_.token(step_.passes().back(), step_.all()[0], 5), TokenId(71));
  EXPECT_EQ(step_.token(step_.passes().back(), step_.all()[1], 3), TokenId(72));
}

class StepAnswerTest : public StepSlicesTest {
 protected:
  /// Two drafts for sequence 1; sequence 2 runs a part of its prompt.
  void begin_with_drafts() {
    begin({{SeqId(1), 0, 6, 2, true}, {SeqId(2), 0, 2, 0, false}});
    step_.drafts()[0] = TokenId(71);
    step_.drafts()[1] = TokenId(72);
  }
  StepAnswer answer_{{.drafts = 4, .eos = {TokenId(99)}}, drafter_};
  StepResult result_;
};

TEST_F(StepAnswerTest, kept_drafts_and_the_targets_own_token_go_to_sequence_and_result) {
  begin_with_drafts();
  EXPECT_EQ(answer_.accept(step_, step_.all()[0], {1, TokenId(80)}, result_), 2U);
  EXPECT_EQ(result_.tokens, (std::vector{TokenId(71), TokenId(80)}));
  EXPECT_EQ(result_.slices, (std::vector{SliceResult{SeqId(1), 0, 2, FinishSignal::none, 4}}));
  const SequenceTable::Sequence& sequence = *step_.all()[0].sequence;
  EXPECT_EQ(sequence.tokens.back(), TokenId(80));
  EXPECT_EQ(sequence.valid, 5U) << "KV of the prompt and of one draft";
  EXPECT_EQ(answer_.speculation(), (SpeculationStatistics{1, 2, 1, 2}));
}

TEST_F(StepAnswerTest, eos_ends_the_sequence_and_no_drafts_are_wanted) {
  begin_with_drafts();
  answer_.accept(step_, step_.all()[0], {0, TokenId(99)}, result_);
  EXPECT_EQ(result_.slices, (std::vector{SliceResult{SeqId(1), 0, 1, FinishSignal::eos, 0}}));
}

TEST_F(StepAnswerTest, a_slice_that_samples_and_has_no_token_has_no_finite_logits) {
  begin_with_drafts();
  EXPECT_EQ(answer_.accept(step_, step_.all()[0], {}, result_), 0U);
  EXPECT_EQ(result_.slices,
            (std::vector{SliceResult{SeqId(1), 0, 0, FinishSignal::not_finite, 0}}));
  EXPECT_TRUE(result_.tokens.empty());
}

TEST_F(StepAnswerTest, a_slice_that_does_not_sample_yields_nothing_but_valid_kv) {
  begin_with_drafts();
  EXPECT_EQ(answer_.accept(step_, step_.all()[1], {}, result_), 0U);
  EXPECT_EQ(result_.slices, (std::vector{SliceResult{SeqId(2), 0, 0, FinishSignal::none, 0}}));
  EXPECT_EQ(step_.all()[1].sequence->valid, 2U);
  EXPECT_EQ(answer_.speculation(), SpeculationStatistics());
}

TEST(SequenceTableBatchRows, are_the_lowest_that_are_free) {
  SequenceTable sequences({16, 4});
  for (std::uint64_t seq = 1; seq <= 4; ++seq) {
    sequences.begin(SeqId(seq), {.prompt = {TokenId(1), TokenId(2)}});
  }
  StepPlan plan;
  plan.admitted = {{SeqId(1), 0}, {SeqId(2), 0}, {SeqId(3), 0}};
  sequences.apply(plan);
  EXPECT_EQ(sequences.batch_row_count(), 3U);

  plan = {};
  plan.step = StepId(1);
  plan.finished = {{SeqId(1), FinishReason::length}};
  plan.preempted = {{SeqId(2), PreemptionMode::recompute}};
  sequences.apply(plan);
  EXPECT_EQ(sequences.in_batch(0), nullptr);
  EXPECT_EQ(sequences.in_batch(1), nullptr);

  plan = {};
  plan.step = StepId(2);
  plan.admitted = {{SeqId(4), 0}};
  plan.resumed = {{SeqId(2), 0}};
  sequences.apply(plan);
  EXPECT_EQ(sequences.batch_row_count(), 3U) << "no more than were there at a time";
  EXPECT_EQ(sequences.in_batch(0)->request.prompt.size(), 2U);
  EXPECT_EQ(sequences.in_batch(0)->batch_row, 0U);
  EXPECT_EQ(sequences.in_batch(1)->batch_row, 1U);
}

}  // namespace
}  // namespace forge::executor
