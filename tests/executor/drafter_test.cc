// Which passes drafters make of a step, and a drafter of one's own on each target.
#include "forge/executor/drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "executor/driver.h"

namespace forge::executor {
namespace {

using ::testing::ElementsAre;

/// Sequences in blocks of 4: number s has blocks 4 s .. 4 s + 3 of its own.
class DrafterTest : public ::testing::Test {
 protected:
  void enter(std::uint64_t seq, std::uint32_t prompt, std::uint32_t cached = 0,
             const std::vector<std::uint32_t>& shared = {}) {
    sequences_.begin(SeqId(seq), {.prompt = std::vector<TokenId>(prompt, TokenId(1))});
    plan_.admitted.push_back({SeqId(seq), cached});
    append(seq, 0, shared);
  }
  /// Its table from `from` on: `blocks`, then its own.
  void append(std::uint64_t seq, std::uint32_t from, std::vector<std::uint32_t> blocks) {
    for (auto own = from + static_cast<std::uint32_t>(blocks.size()); own < 4; ++own) {
      blocks.push_back(static_cast<std::uint32_t>(4 * seq) + own);
    }
    const auto first = static_cast<std::uint32_t>(plan_.appended_blocks.size());
    for (const std::uint32_t block : blocks) plan_.appended_blocks.emplace_back(block);
    plan_.tables.push_back({SeqId(seq), from, first, static_cast<std::uint32_t>(blocks.size())});
  }

  /// The passes of the step, "draft: 1[0..7 L7] 2[3]": the draft model runs positions 0 to 7 of
  /// sequence 1, with logits from 7 on, and position 3 of sequence 2.
  std::vector<std::string> passes(Drafter& drafter, const std::vector<Slice>& slices) {
    plan_.slices = slices;
    sequences_.apply(plan_);
    step_.begin(plan_, sequences_, drafter);
    std::vector<std::string> texts;
    for (const Pass& pass : step_.passes()) {
      std::string text = pass.model == PassModel::draft ? "draft" : "target";
      if (pass.layers) text += std::to_string(*pass.layers);
      text += pass.proposes ? " proposes:" : " verifies:";
      for (const RowRun& run : step_.runs(pass)) text += ' ' + text_of(run);
      texts.push_back(text);
    }
    const StepId next(plan_.step.value + 1);
    plan_.clear();
    plan_.step = next;
    return texts;
  }

  /// The target keeps so many of the sequence's drafts, and adds a token.
  void keep(std::size_t slice, std::uint32_t drafts) {
    SequenceTable::Sequence& sequence = *step_.all()[slice].sequence;
    sequence.valid = step_.all()[slice].known_end() + drafts;
    sequence.tokens.resize(sequence.valid + 1, TokenId(2));
  }

  static std::string text_of(const RowRun& run) {
    std::string text = std::to_string(run.slice->slice.seq.value) + "[" + std::to_string(run.first);
    if (run.count() > 1) text += ".." + std::to_string(run.end - 1);
    if (run.logits_count() > 0) text += " L" + std::to_string(run.first_logits);
    return text + "]";
  }

  const ExecutorOptions options_{
      .cache = {.num_blocks = 64, .block_size = 4, .num_host_blocks = 4}};
  LayerSkipDrafter skips_{2};
  ModelDrafter model_{options_, 100};
  SequenceTable sequences_{{64, 4}};
  StepPlan plan_;
  StepSlices step_;
};

TEST_F(DrafterTest, without_drafts_the_first_layers_make_no_pass) {
  enter(1, 8);
  EXPECT_THAT(passes(skips_, {{SeqId(1), 0, 8, 0, true}}),
              ElementsAre("target verifies: 1[0..7 L7]"));
}

TEST_F(DrafterTest, first_layers_propose_draft_by_draft) {
  enter(1, 8);
  enter(2, 8);
  enter(3, 8);
  EXPECT_THAT(
      passes(skips_,
             {{SeqId(1), 0, 10, 2, true}, {SeqId(2), 0, 5, 0, false}, {SeqId(3), 0, 9, 1, true}}),
      ElementsAre("target2 proposes: 1[0..7 L7] 3[0..7 L7]",  //
                  "target2 proposes: 1[8 L8]", "target verifies: 1[0..9 L7] 2[0..4] 3[0..8 L7]"));
}

TEST_F(DrafterTest, a_draft_model_runs_all_that_is_known_and_drafts_but_the_last) {
  enter(1, 8);
  enter(2, 8);
  EXPECT_THAT(passes(model_, {{SeqId(1), 0, 10, 2, true}, {SeqId(2), 0, 5, 0, false}}),
              ElementsAre("draft proposes: 1[0..7 L7] 2[0..4]",  //
                          "draft proposes: 1[8 L8]", "target verifies: 1[0..9 L7] 2[0..4]"));
}

TEST_F(DrafterTest, a_last_draft_that_was_kept_is_caught_up_before_all_other_rows) {
  enter(1, 8);
  enter(2, 8);
  passes(model_, {{SeqId(1), 0, 11, 3, true}, {SeqId(2), 0, 11, 3, true}});
  keep(0, 2);
  keep(1, 3);
  EXPECT_THAT(
      passes(model_, {{SeqId(1), 10, 1, 0, true}, {SeqId(2), 11, 1, 0, true}}),
      ElementsAre("draft proposes: 2[10] 1[10] 2[11]", "target verifies: 1[10 L10] 2[11 L11]"));
}

TEST_F(DrafterTest, who_finds_the_slot_lacking_first_fills_it_for_all) {
  enter(1, 8);
  passes(model_, {{SeqId(1), 0, 12, 4, true}});
  keep(0, 4);
  enter(2, 14, 12, {4, 5, 6});
  enter(3, 14, 12, {4, 5, 6});
  EXPECT_EQ(passes(model_, {{SeqId(2), 12, 2, 0, true}, {SeqId(3), 12, 2, 0, true}}).front(),
            "draft proposes: 2[11] 2[12..13] 3[12..13]");
}

TEST_F(DrafterTest, a_block_in_place_of_an_equal_one_may_lack_a_slot_further_back) {
  enter(1, 8);
  enter(2, 14);
  passes(model_, {{SeqId(1), 0, 12, 4, true}, {SeqId(2), 0, 14, 0, true}});
  keep(0, 4);
  keep(1, 0);
  append(2, 2, {6});
  EXPECT_EQ(passes(model_, {{SeqId(2), 14, 1, 0, true}}).front(), "draft proposes: 2[11] 2[14]");
}

TEST_F(DrafterTest, a_draft_model_runs_tokens_that_it_does_not_know_as_its_last) {
  enter(1, 8);
  plan_.slices = {{SeqId(1), 0, 8, 0, true}};
  sequences_.apply(plan_);
  ModelDrafter small(options_, 1);
  step_.begin(plan_, sequences_, small);
  EXPECT_EQ(step_.token(step_.passes().front(), step_.all()[0], 3), TokenId(0));
  EXPECT_EQ(step_.token(step_.passes().back(), step_.all()[0], 3), TokenId(1));
}

TEST_F(DrafterTest, a_step_that_failed_has_caught_nothing_up) {
  enter(1, 8);
  passes(model_, {{SeqId(1), 0, 12, 4, true}});
  keep(0, 4);
  enter(2, 14, 12, {4, 5, 6});
  passes(model_, {{SeqId(2), 12, 2, 0, true}});
  model_.forget(step_);
  enter(3, 14, 12, {4, 5, 6});
  EXPECT_EQ(passes(model_, {{SeqId(3), 12, 2, 0, true}}).front(),
            "draft proposes: 3[11] 3[12..13]");
}

TEST_F(DrafterTest, passes_propose_as_many_as_are_asked_for) {
  enter(1, 8);
  passes(skips_, {{SeqId(1), 0, 8, 0, true}});
  SequenceTable::Sequence& sequence = *step_.all()[0].sequence;
  EXPECT_EQ(skips_.offer(sequence, 5), 5U);
  EXPECT_EQ(model_.offer(sequence, 5), 5U);
}

class NgramDrafterTest : public DrafterTest {
 protected:
  /// The drafts of a sequence whose known text is `text`, a character a token; "" if it has none to
  /// offer.
  std::string drafts_of(const std::string& text, std::uint32_t most) {
    std::vector<TokenId> prompt;
    for (const char c : text) prompt.emplace_back(static_cast<unsigned char>(c));
    sequences_.begin(SeqId(1), {.prompt = prompt});
    plan_.admitted = {{SeqId(1), 0}};
    append(1, 0, {});
    const auto length = static_cast<std::uint32_t>(text.size());
    passes(ngrams_, {{SeqId(1), 0, length, 0, true}});
    SequenceTable::Sequence& sequence = *step_.all()[0].sequence;
    const std::uint32_t offered = ngrams_.offer(sequence, most);
    sequence.valid = length - 1;
    std::string drafts;
    if (offered > 0) {
      EXPECT_EQ(passes(ngrams_, {{SeqId(1), length - 1, 1 + offered, offered, true}}).size(), 1U)
          << "no pass proposes";
      for (const TokenId draft : step_.drafts()) drafts += static_cast<char>(draft.value);
    }
    return drafts;
  }

  NgramDrafter ngrams_;
};

TEST_F(NgramDrafterTest, proposes_what_followed_the_longest_end_that_was_there_before) {
  EXPECT_EQ(drafts_of("abcde1abcabcd", 3), "e1a");
}
TEST_F(NgramDrafterTest, prefers_the_latest_of_equals) {
  EXPECT_EQ(drafts_of("abcd1abcd2abcd", 2), "2a");
}
TEST_F(NgramDrafterTest, goes_on_with_its_own_drafts_where_the_text_ends) {
  EXPECT_EQ(drafts_of("xababab", 5), "ababa");
}
TEST_F(NgramDrafterTest, offers_nothing_where_the_end_is_new) {
  EXPECT_EQ(drafts_of("abcdefgh", 4), "");
}

class OwnDrafter : public testing::TargetTest {};

TEST_P(OwnDrafter, needs_no_pass_and_changes_no_token_and_no_logit) {
  Request echoing = testing::request_of("a a a a a a a");
  const auto told = [&](const testing::MakeTarget& target, std::uint32_t drafts) {
    testing::Driver driver(target, {.cache = {.num_blocks = 64, .block_size = 4},
                                    .drafts = 3,
                                    .digest_logits = true,
                                    .check_kv = true});
    driver.begin(1, echoing);
    driver.begin(2, testing::request_of("abcabcabc", 0.9F, 4));
    driver.step({driver.decode(1), driver.decode(2)});
    while (driver.output(1).size() < 60) {
      driver.step({driver.decode(1, drafts), driver.decode(2, drafts / 2)});
    }
    EXPECT_EQ(driver.executor().speculation().accepted > 0, drafts > 0);
    testing::Output first = driver.result(1);
    first.tokens.resize(60);
    first.digests.resize(60);
    return first;
  };
  const auto ngrams = [] { return std::make_unique<NgramDrafter>(); };
  EXPECT_EQ(told(target({.model = {}, .drafter = ngrams}), 3), told(testing::cpu_target(), 0));
  // Of what it proposes, too, penalties know that it was said.
  echoing.sampling.frequency_penalty = -2.0F;
  EXPECT_EQ(told(target({.model = {}, .drafter = ngrams}), 3), told(testing::cpu_target(), 0));
}

FORGE_FOR_EACH_TARGET(OwnDrafter);

}  // namespace
}  // namespace forge::executor
