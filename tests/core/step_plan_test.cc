#include "forge/core/step_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "forge/core/digest.h"

namespace forge {
namespace {

StepPlan full_plan() {
  StepPlan plan;
  plan.step = StepId{3};
  plan.admitted = {{SeqId{4}, 8}};
  plan.resumed = {{SeqId{2}, 0}};
  plan.preempted = {{SeqId{5}, PreemptionMode::swap}};
  plan.finished = {{SeqId{1}, FinishReason::eos}};
  plan.copies = {{CopyKind::swap_in, BlockId{1}, BlockId{2}}};
  plan.tables = {{SeqId{4}, 0, 0, 2}};
  plan.appended_blocks = {BlockId{7}, BlockId{8}};
  plan.slices = {{SeqId{2}, 9, 3, 2, true}, {SeqId{4}, 0, 20, 0, true}};
  plan.decodes = 1;
  return plan;
}

StepResult full_result() {
  StepResult result;
  result.step = StepId{3};
  result.slices = {{SeqId{2}, 0, 2, FinishSignal::eos, 4}, {SeqId{4}, 2, 1}};
  result.tokens = {TokenId{10}, TokenId{0}, TokenId{12}};
  result.logits = {1, 2, 3};
  return result;
}

TEST(Digest, is_fnv_1a_over_little_endian_words) {
  // FNV-1a of "\x61" and seven zero bytes, by an independent implementation (five lines of
  // Python: h = (h ^ byte) * 1099511628211 % 2**64 from 14695981039346656037).
  EXPECT_EQ(Digest().add(0x61).value(), 0x6926124a7b1433c4u);
  EXPECT_EQ(Digest().value(), 14695981039346656037u);
}

TEST(StepPlan, is_a_regular_type) {
  const StepPlan plan = full_plan();
  StepPlan copy = plan;
  EXPECT_EQ(copy, plan);
  EXPECT_EQ(digest(copy), digest(plan));
  copy.clear();
  copy.step = {};
  EXPECT_EQ(copy, StepPlan{});
}

TEST(StepPlan, every_field_takes_part_in_equality_and_digest) {
  const std::vector<std::function<void(StepPlan&)>> edits = {
      [](StepPlan& p) { p.step.value++; },
      [](StepPlan& p) { p.admitted.clear(); },
      [](StepPlan& p) { p.resumed[0].seq = SeqId{3}; },
      [](StepPlan& p) { p.preempted[0].mode = PreemptionMode::recompute; },
      [](StepPlan& p) { p.finished[0].reason = FinishReason::length; },
      [](StepPlan& p) { p.admitted[0].cached_tokens = 4; },
      [](StepPlan& p) { p.copies[0].kind = CopyKind::swap_out; },
      [](StepPlan& p) { p.copies[0].to = BlockId{3}; },
      [](StepPlan& p) { p.tables[0].truncated_to = 1; },
      [](StepPlan& p) { p.appended_blocks[1] = BlockId{9}; },
      [](StepPlan& p) { p.slices[0].drafts = 1; },
      [](StepPlan& p) { p.slices[1].samples = false; },
      [](StepPlan& p) { p.decodes = 2; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    StepPlan plan = full_plan();
    edits[i](plan);
    EXPECT_NE(plan, full_plan()) << i;
    EXPECT_NE(digest(plan), digest(full_plan())) << i;
  }
}

TEST(StepResult, every_field_takes_part_in_equality_and_digest) {
  const std::vector<std::function<void(StepResult&)>> edits = {
      [](StepResult& r) { r.step.value++; },
      [](StepResult& r) { r.slices[0].seq = SeqId{9}; },
      [](StepResult& r) { r.slices[0].token_count = 1; },
      [](StepResult& r) { r.slices[0].signal = FinishSignal::none; },
      [](StepResult& r) { r.slices[1].drafts = 1; },
      [](StepResult& r) { r.tokens[2] = TokenId{13}; },
      [](StepResult& r) { r.logits[0] = 9; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    StepResult result = full_result();
    edits[i](result);
    EXPECT_NE(result, full_result()) << i;
    EXPECT_NE(digest(result), digest(full_result())) << i;
  }
}

TEST(StepPlan, digest_keeps_neighbouring_lists_apart) {
  StepPlan a;
  a.admitted = {{SeqId{1}, 0}};
  StepPlan b;
  b.resumed = {{SeqId{1}, 0}};
  EXPECT_NE(digest(a), digest(b));
}

TEST(RunDigest, chains_every_step) {
  RunDigest run;
  RunDigest other;
  EXPECT_EQ(run.add(full_plan(), full_result()), other.add(full_plan(), full_result()));
  StepPlan edited = full_plan();
  edited.decodes = 0;
  run.add(full_plan(), full_result());
  other.add(edited, full_result());
  EXPECT_NE(run.value(), other.value());
  run.add(full_plan(), full_result());
  other.add(full_plan(), full_result());
  EXPECT_NE(run.value(), other.value()) << "a difference stays in the chain";
}

TEST(StepPlan, views_split_decodes_from_prompts_and_give_the_appended_blocks) {
  const StepPlan plan = full_plan();
  EXPECT_EQ(plan.decode_batch().size(), 1u);
  EXPECT_EQ(plan.prefill_batch().front().seq, SeqId{4});
  EXPECT_EQ(plan.appended(plan.tables[0]).back(), BlockId{8});
  const StepResult result = full_result();
  EXPECT_EQ(result.tokens_of(result.slices[1]).front(), TokenId{12});
}

}  // namespace
}  // namespace forge
