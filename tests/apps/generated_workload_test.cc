#include "generated_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "forge/core/digest.h"

namespace forge::apps {
namespace {

WorkloadShape shape_of(WorkloadKind kind, std::size_t requests = 2000, double rate = 4) {
  return {.kind = kind, .requests = requests, .rate = rate, .seed = 1};
}

std::string text_of(const Workload& workload) {
  std::ostringstream out;
  write_workload(workload, out);
  return out.str();
}

std::uint64_t digest_of(const std::string& text) {
  Digest digest;
  for (const char c : text) digest.add(static_cast<unsigned char>(c));
  return digest.value();
}

class GeneratedWorkload : public testing::TestWithParam<WorkloadKind> {};

TEST_P(GeneratedWorkload, is_read_as_it_was_written) {
  const Workload workload = generate_workload(shape_of(GetParam()));
  EXPECT_EQ(workload.size(), 2000u);
  std::istringstream in(text_of(workload));
  EXPECT_EQ(read_workload(in, workload.size()), workload);
}

TEST_P(GeneratedWorkload, comes_at_the_rate_that_was_asked_for) {
  for (const double rate : {0.5, 4.0, 100.0}) {
    const Workload workload = generate_workload(shape_of(GetParam(), 20'000, rate));
    EXPECT_TRUE(std::ranges::is_sorted(workload, {}, &WorkloadItem::arrival_us));
    EXPECT_EQ(workload.front().arrival_us, 0u);
    const std::uint64_t us = workload.back().arrival_us - workload[10'000].arrival_us;
    EXPECT_NEAR(10'000 * 1e6 / static_cast<double>(us), rate, 0.1 * rate);
  }
}

TEST_P(GeneratedWorkload, is_another_one_for_another_seed_and_a_longer_one_begins_alike) {
  const WorkloadShape shape = shape_of(GetParam());
  WorkloadShape other = shape;
  other.seed = 2;
  EXPECT_NE(generate_workload(shape), generate_workload(other));
  Workload longer = generate_workload(shape_of(GetParam(), 3000));
  longer.resize(shape.requests);
  EXPECT_EQ(generate_workload(shape), longer);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GeneratedWorkload,
                         testing::Values(WorkloadKind::chat, WorkloadKind::documents),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

// What a seed means does not change: scores and pages are of these.
TEST(GeneratedWorkloads, have_the_same_bytes_on_every_machine) {
  EXPECT_EQ(digest_of(text_of(generate_workload(shape_of(WorkloadKind::chat)))),
            2395329249601360574U);
  EXPECT_EQ(digest_of(text_of(generate_workload(shape_of(WorkloadKind::documents)))),
            8493196699740907328U);
}

/// Leading tokens that two prompts have in common, by their ids.
std::size_t shared_blocks(const WorkloadItem& a, const WorkloadItem& b) {
  const auto end = std::ranges::mismatch(a.hash_ids, b.hash_ids).in1;
  return static_cast<std::size_t>(end - a.hash_ids.begin());
}

TEST(GeneratedWorkloads, a_turn_of_a_chat_repeats_the_one_before) {
  const Workload workload = generate_workload(shape_of(WorkloadKind::chat));
  std::size_t repeat = 0;
  for (std::size_t i = 1; i < workload.size(); ++i) {
    const bool found = std::ranges::any_of(
        workload.begin(), workload.begin() + std::ptrdiff_t(i), [&](const WorkloadItem& before) {
          return shared_blocks(before, workload[i]) == before.hash_ids.size();
        });
    repeat += found ? 1 : 0;
  }
  EXPECT_GT(repeat, workload.size() / 2);
  std::size_t first = 0;
  for (const WorkloadItem& item : workload) first += item.hash_ids.front() == 0 ? 1 : 0;
  EXPECT_GT(first, workload.size() / 5);  // the commonest system prompt
  EXPECT_LT(first, workload.size() / 2);
}

TEST(GeneratedWorkloads, a_document_is_long_and_rare_and_like_no_other) {
  const Workload workload = generate_workload(shape_of(WorkloadKind::documents));
  const auto documents = std::ranges::count_if(
      workload, [](const WorkloadItem& item) { return item.prompt_tokens > 2048; });
  EXPECT_GT(documents, 200);
  EXPECT_LT(documents, 400);
  for (std::size_t i = 1; i < workload.size(); ++i) {
    EXPECT_EQ(shared_blocks(workload[i - 1], workload[i]), 0u);
  }
}

}  // namespace
}  // namespace forge::apps
