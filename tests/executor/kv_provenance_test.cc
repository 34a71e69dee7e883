#include "forge/executor/kv_provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace forge::executor {
namespace {

using ::testing::HasSubstr;

constexpr int kLayers = 4;

std::vector<TokenId> tokens(std::string_view text) {
  std::vector<TokenId> out;
  for (const char c : text) out.emplace_back(static_cast<unsigned char>(c));
  return out;
}

/// A pool of 8 blocks of 4 slots, 2 host blocks.
class KvProvenanceTest : public ::testing::Test {
 protected:
  using Table = std::vector<std::uint32_t>;

  /// Runs the tokens of `text` from `computed` on; the KV of those before is claimed to be there.
  tl::expected<void, KvViolation> run(std::uint64_t step, const Table& table, std::string_view text,
                                      std::uint32_t computed = 0) {
    return run(step, {{table, text, computed}});
  }
  struct Part {
    Table table;
    std::string_view text;
    std::uint32_t computed = 0;
  };
  tl::expected<void, KvViolation> run(std::uint64_t step, const std::vector<Part>& parts,
                                      int layers = kLayers) {
    std::vector<std::vector<TokenId>> known;
    for (const Part& part : parts) known.push_back(tokens(part.text));
    std::vector<KvPass> passes;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      passes.push_back({.seq = SeqId(i + 1),
                        .blocks = parts[i].table,
                        .known = known[i],
                        .computed = parts[i].computed,
                        .first = parts[i].computed});
    }
    return provenance_.run(StepId(step), layers, passes);
  }
  void copy(CopyKind kind, std::uint32_t from, std::uint32_t to) {
    provenance_.copy({kind, BlockId(from), BlockId(to)});
  }

  KvProvenance provenance_{8, 2, 4, kLayers};
};

TEST_F(KvProvenanceTest, a_sequence_may_read_what_it_has_written) {
  EXPECT_TRUE(run(0, {5, 1}, "the ca"));
  EXPECT_TRUE(run(1, {5, 1}, "the cat", 6));
}

TEST_F(KvProvenanceTest, whoever_has_the_same_tokens_may_read_them) {
  ASSERT_TRUE(run(0, {5, 1}, "the cat"));
  EXPECT_TRUE(run(1, {5, 2}, "the dog", 4));
}

TEST_F(KvProvenanceTest, what_a_failed_step_would_have_written_nobody_may_read) {
  const Table table{5, 1};
  const std::vector<TokenId> known = tokens("the cat");
  ASSERT_TRUE(run(0, table, "the cat"));
  provenance_.forget({.seq = SeqId(1), .blocks = table, .known = known, .computed = 6, .first = 6});
  EXPECT_TRUE(run(1, table, "the ca", 5)) << "what lies before is as it was";
  const auto found = run(2, {5, 1, 2}, "the cat is", 7);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().slot, 2U);
  EXPECT_FALSE(found.error().found.has_value());
}

TEST_F(KvProvenanceTest, where_a_failed_copy_went_nobody_may_read) {
  ASSERT_TRUE(run(0, {5}, "the "));
  ASSERT_TRUE(run(1, {6}, "one "));
  provenance_.forget_destination({CopyKind::within, BlockId(5), BlockId(6)});
  EXPECT_TRUE(run(2, {5, 1}, "the c", 4));
  EXPECT_FALSE(run(3, {6, 2}, "one c", 4).has_value());
  EXPECT_FALSE(run(4, {6, 2}, "the c", 4).has_value());
}

TEST_F(KvProvenanceTest, a_slot_that_nobody_wrote_is_named) {
  ASSERT_TRUE(run(0, {5}, "th"));
  const auto found = run(3, {5, 1}, "the cat", 4);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().seq, SeqId(1));
  EXPECT_EQ(found.error().step, StepId(3));
  EXPECT_EQ(found.error().block, 5U);
  EXPECT_EQ(found.error().slot, 2U);
  EXPECT_EQ(found.error().expected.token, TokenId('e'));
  EXPECT_EQ(found.error().expected.position, 2U);
  EXPECT_FALSE(found.error().found.has_value());
  const std::string text = to_string(found.error());
  EXPECT_THAT(text, HasSubstr("step 3, sequence 1: slot 2 of block 5: expected token 101 at "
                              "position 2 with prefix hash "));
  EXPECT_THAT(text, HasSubstr(", written before step 3; found nothing"));
}

TEST_F(KvProvenanceTest, another_token_is_found_out) {
  ASSERT_TRUE(run(0, {5}, "the "));
  const auto found = run(1, {5, 1}, "tha cat", 4);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().slot, 2U);
  EXPECT_EQ(found.error().found->content.token, TokenId('e'));
  EXPECT_THAT(to_string(found.error()),
              HasSubstr("found token 101 at position 2 with prefix hash "));
  EXPECT_THAT(to_string(found.error()), HasSubstr(", 4 layers written by step 0"));
}

TEST_F(KvProvenanceTest, the_right_token_at_another_position_is_found_out) {
  ASSERT_TRUE(run(0, {5, 1}, "aaaaaaaa"));
  const auto found = run(1, {1, 2}, "aaaaa", 4);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().expected.position, 0U);
  EXPECT_EQ(found.error().found->content.position, 4U);
}

TEST_F(KvProvenanceTest, the_right_token_and_position_after_another_prefix_is_found_out) {
  ASSERT_TRUE(run(0, {5, 1}, "the cat "));
  ASSERT_TRUE(run(1, {6}, "one "));
  const auto found = run(2, {6, 1, 2}, "one cat sat", 8);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().expected.position, 4U);
  EXPECT_EQ(found.error().found->content.token, found.error().expected.token);
  EXPECT_EQ(found.error().found->content.position, found.error().expected.position);
  EXPECT_NE(found.error().found->content.prefix_hash, found.error().expected.prefix_hash);
}

TEST_F(KvProvenanceTest, what_the_same_step_writes_is_no_earlier_kv) {
  const auto found = run(2, {{{5, 1}, "the cat", 0}, {{5, 2}, "the dog", 4}});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().seq, SeqId(2));
  EXPECT_TRUE(found.error().earlier);
  EXPECT_EQ(found.error().found->step, StepId(2));
  EXPECT_EQ(found.error().found->content, found.error().expected);
}

TEST_F(KvProvenanceTest, but_for_rows_that_the_step_caught_up_before_all_others) {
  ASSERT_TRUE(run(0, {5}, "the"));
  const Table table{5, 1};
  const std::vector<TokenId> known = tokens("the cat");
  const KvPass lacking{.seq = SeqId(1), .blocks = table, .known = known, .computed = 6, .first = 6};
  ASSERT_FALSE(provenance_.run(StepId(1), kLayers, {&lacking, 1}));

  KvPass caught_up[] = {lacking, lacking};
  caught_up[0].known = std::span(known).first(6);
  caught_up[0].first = 3;
  for (KvPass& pass : caught_up) pass.catches_up = true;
  EXPECT_TRUE(provenance_.run(StepId(1), kLayers, caught_up));
}

TEST_F(KvProvenanceTest, two_that_write_one_block_are_found_out) {
  const auto found = run(0, {{{5}, "the", 0}, {{5}, "one", 0}});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().seq, SeqId(1));
}

TEST_F(KvProvenanceTest, a_block_that_the_draft_model_alone_has_written_is_no_kv_of_the_target) {
  ASSERT_TRUE(run(0, {{{5}, "the ", 0}}, /*layers=*/2));
  const auto found = run(1, {5, 1}, "the cat", 4);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().found->layers, 2);
}

TEST_F(KvProvenanceTest, drafts_are_tokens_like_others_until_they_are_overwritten) {
  const Table table{5, 1};
  const auto known = tokens("the"), drafts = tokens(" cat");
  const auto pass = [&](std::span<const TokenId> seen, std::uint32_t first) {
    return KvPass{.seq = SeqId(1), .blocks = table, .known = known, .drafts = seen, .first = first};
  };
  const auto proposed = [&](std::size_t count, std::uint32_t first) {
    const KvPass one = pass(std::span(drafts).first(count), first);
    return provenance_.run(StepId(0), 2, {&one, 1});
  };
  EXPECT_TRUE(proposed(0, 0));
  EXPECT_TRUE(proposed(1, 3));
  EXPECT_TRUE(proposed(2, 4));
  const KvPass verified = pass(drafts, 0);
  EXPECT_TRUE(provenance_.run(StepId(0), kLayers, {&verified, 1}));
  EXPECT_TRUE(run(1, table, "the car", 6)) << "two drafts kept, then a token of the model's own";
  EXPECT_FALSE(run(2, table, "the dogs", 7)) << "a draft that was not kept";
}

TEST_F(KvProvenanceTest, copies_carry_what_was_written) {
  ASSERT_TRUE(run(0, {5}, "the "));
  copy(CopyKind::within, 5, 3);
  EXPECT_TRUE(run(1, {3, 1}, "the cat", 4));
}

TEST_F(KvProvenanceTest, swaps_carry_what_was_written) {
  ASSERT_TRUE(run(0, {5}, "the "));
  copy(CopyKind::swap_out, 5, 1);
  ASSERT_TRUE(run(1, {5}, "one "));
  copy(CopyKind::swap_in, 1, 7);
  EXPECT_TRUE(run(2, {7, 2}, "the cat", 4));
}

TEST_F(KvProvenanceTest, a_host_block_that_was_reused_is_found_out) {
  ASSERT_TRUE(run(0, {5}, "the "));
  copy(CopyKind::swap_out, 5, 1);
  ASSERT_TRUE(run(1, {5}, "one "));
  copy(CopyKind::swap_out, 5, 1);
  copy(CopyKind::swap_in, 1, 7);
  EXPECT_FALSE(run(2, {7, 2}, "the cat", 4));
}

}  // namespace
}  // namespace forge::executor
