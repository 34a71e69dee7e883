#include "workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace forge::apps {
namespace {

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

tl::expected<Workload, std::string> read(const std::string& text, std::size_t limit = 100) {
  std::istringstream in(text);
  return read_workload(in, limit);
}

WorkloadItem item(std::uint64_t arrival_us, std::uint32_t prompt_tokens, std::uint32_t new_tokens,
                  std::vector<std::uint64_t> hash_ids = {}) {
  return {.arrival_us = arrival_us,
          .prompt_tokens = prompt_tokens,
          .new_tokens = new_tokens,
          .hash_ids = std::move(hash_ids)};
}

std::string mooncake_row(const std::string& timestamp, const std::string& input_length,
                         const std::string& output_length, const std::string& hash_ids) {
  return "{\"timestamp\": " + timestamp + ", \"input_length\": " + input_length +
         ", \"output_length\": " + output_length + ", \"hash_ids\": " + hash_ids + "}\n";
}

/// What read() refuses, or "accepted".
std::string error_of(const std::string& text) {
  const auto workload = read(text);
  return workload ? "accepted" : workload.error();
}

TEST(Workload, azure_rows_become_arrivals_and_lengths) {
  const auto workload = read(kHeader +
                             "2023-11-16 23:59:59.9805900,374,44\n"
                             "2023-11-17 00:00:01.0000000,396,109\r\n");
  const Workload expected{item(0, 374, 44), item(1'019'410, 396, 109)};
  EXPECT_EQ(workload.value(), expected);
}

TEST(Workload, the_first_rows_up_to_the_limit_are_sorted_by_arrival) {
  const auto workload = read(kHeader +
                                 "2023-11-16 18:15:46.2,2,2\n"
                                 "2023-11-16 18:15:46.1,1,1\n"
                                 "2023-11-16 18:15:46.0,0,0\n",
                             2);
  const Workload expected{item(0, 1, 1), item(100'000, 2, 2)};
  EXPECT_EQ(workload.value(), expected);
}

TEST(Workload, bad_rows_are_refused_with_line_value_and_range) {
  const std::string good = kHeader + "2023-11-16 18:15:46.6,374,44\n";
  EXPECT_EQ(error_of(good + "2023-11-16 18:15:46.6,0,44\n"),
            "line 3: ContextTokens '0' is not an integer in 1..1048576");
  EXPECT_EQ(error_of(good + "2023-11-16 18:15:46.6,5,4x\n"),
            "line 3: GeneratedTokens '4x' is not an integer in 1..1048576");
  EXPECT_EQ(error_of(good + "2023-11-16 18:15:46.6,5,99999999999\n"),
            "line 3: GeneratedTokens '99999999999' is not an integer in 1..1048576");
  EXPECT_EQ(error_of(good + "2023-13-16 18:15:46.6,5,4\n"),
            "line 3: TIMESTAMP '2023-13-16 18:15:46.6' is not of the form YYYY-MM-DD "
            "hh:mm:ss.fraction");
  EXPECT_EQ(error_of(good + "2023-11-16 18:15:46.6,5\n"),
            "line 3: '2023-11-16 18:15:46.6,5' does not have three columns");
  EXPECT_EQ(error_of(good + "\n"), "line 3: '' does not have three columns");
}

TEST(Workload, mooncake_rows_become_arrivals_lengths_and_prompts_that_begin_alike) {
  const auto workload = read(mooncake_row("27000", "1025", "3", "[7, 18446744073709551615, 9]") +
                             mooncake_row("30500", "512", "1", "[7]"));
  const Workload expected{item(0, 1025, 3, {7, 18446744073709551615u, 9}),
                          item(3'500'000, 512, 1, {7})};
  EXPECT_EQ(workload.value(), expected);
}

TEST(Workload, bad_mooncake_rows_are_refused_with_line_value_and_range) {
  const std::string good = mooncake_row("0", "10", "1", "[0]");
  EXPECT_EQ(error_of(good + mooncake_row("0", "0", "1", "[]")),
            "line 2: input_length is 0; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_of(good + mooncake_row("-1", "1", "1", "[0]")),
            "line 2: timestamp is -1; accepted is an integer, 0 .. 1099511627776");
  EXPECT_EQ(error_of(good + mooncake_row("0", "1", "1.5", "[0]")),
            "line 2: output_length is 1.5; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_of(good + mooncake_row("0", "[[1]]", "1", "[0]")),
            "line 2: input_length is a list of 1; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_of(good + mooncake_row("0", "513", "1", "[0]")),
            "line 2: hash_ids has 1 elements; accepted are 2, one for each 512 tokens of "
            "input_length");
  EXPECT_EQ(error_of(good + mooncake_row("0", "1", "1", "[-3]")),
            "line 2: hash_ids has -3; accepted are integers, 0 .. 18446744073709551615");
  EXPECT_EQ(error_of(good + mooncake_row("0", "1", "1", "{}")),
            "line 2: hash_ids is an object; accepted is a list");
  EXPECT_EQ(error_of(good + "{\"timestamp\": 0}\n"),
            "line 2: input_length is missing; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_of("{\"timestamp\": 0\n"),
            "line 1: at byte 15: is not JSON in or right after '{\"timestamp\": 0'");
  EXPECT_EQ(error_of(good + "\n"), "line 2: at byte 0: is not JSON in or right after ''");
}

/// tests/golden/traces, whose README says how they were made and read.
Workload golden_workload(const std::string& name) {
  std::ifstream in(std::string(FORGE_GOLDEN_TRACES) + "/" + name);
  return read_workload(in, 1000).value();
}

nlohmann::json golden_facts(const std::string& name) {
  std::ifstream in(FORGE_GOLDEN_TRACES "/golden.json");
  return nlohmann::json::parse(in)[name];
}

TEST(Workload, a_day_of_the_azure_kind_is_read_as_python_reads_it) {
  const Workload workload = golden_workload("azure.csv");
  const nlohmann::json expected = golden_facts("azure");
  ASSERT_EQ(workload.size(), expected.size());
  for (std::size_t i = 0; i < workload.size(); ++i) {
    EXPECT_EQ(workload[i], item(expected[i][0], expected[i][1], expected[i][2])) << "row " << i;
  }
}

TEST(Workload, conversations_of_the_mooncake_kind_are_read_as_python_reads_them) {
  const Workload workload = golden_workload("mooncake.jsonl");
  const nlohmann::json expected = golden_facts("mooncake");
  std::uint64_t prompt_tokens = 0;
  std::uint64_t new_tokens = 0;
  std::set<std::uint64_t> blocks;
  for (const WorkloadItem& one : workload) {
    prompt_tokens += one.prompt_tokens;
    new_tokens += one.new_tokens;
    blocks.insert(one.hash_ids.begin(), one.hash_ids.end());
  }
  EXPECT_EQ(workload.size(), expected["requests"]);
  EXPECT_EQ(workload.back().arrival_us,
            1000 * (expected["last_ms"].get<int>() - expected["first_ms"].get<int>()));
  EXPECT_EQ(prompt_tokens, expected["prompt_tokens"]);
  EXPECT_EQ(new_tokens, expected["new_tokens"]);
  EXPECT_EQ(blocks.size(), expected["blocks"]);
}

TEST(Workload, other_formats_and_empty_files_are_refused) {
  EXPECT_EQ(error_of("timestamp,input_length\n"),
            "line 1: unknown format 'timestamp,input_length'; known: "
            "'TIMESTAMP,ContextTokens,GeneratedTokens' and JSON lines with \"timestamp\"");
  EXPECT_FALSE(read(""));
  EXPECT_EQ(error_of(kHeader), "no requests");
}

TEST(Workload, synthetic_prompts_have_16_to_64_tokens) {
  const Workload workload = synthetic_workload(2000);
  const auto by_prompt = [](const WorkloadItem& a, const WorkloadItem& b) {
    return a.prompt_tokens < b.prompt_tokens;
  };
  const auto [low, high] = std::minmax_element(workload.begin(), workload.end(), by_prompt);
  EXPECT_EQ(low->prompt_tokens, 16u);
  EXPECT_EQ(high->prompt_tokens, 64u);
  EXPECT_EQ(workload[7].new_tokens, 64u);
}

TEST(Workload, a_request_is_a_function_of_its_index) {
  const WorkloadItem short_one = item(0, 50, 9);
  const Request request = make_request(short_one, 3);
  EXPECT_EQ(request, make_request(short_one, 3));
  EXPECT_NE(request, make_request(short_one, 4));
  EXPECT_EQ(request.prompt.size(), 50u);
  EXPECT_EQ(request.max_new_tokens, 9u);
  EXPECT_TRUE(request.ignore_eos);
  for (const TokenId token : request.prompt) {
    EXPECT_GE(token.value, 1u);
    EXPECT_LE(token.value, 256u);
  }
  // A longer request begins like a shorter one.
  const Request longer = make_request(item(0, 80, 9), 3);
  EXPECT_TRUE(std::equal(request.prompt.begin(), request.prompt.end(), longer.prompt.begin()));
}

/// Leading tokens that two prompts have in common.
std::size_t common_tokens(const WorkloadItem& a, const WorkloadItem& b) {
  const Request left = make_request(a, 1);
  const Request right = make_request(b, 2);
  const auto parted = std::mismatch(left.prompt.begin(), left.prompt.end(), right.prompt.begin(),
                                    right.prompt.end());
  return static_cast<std::size_t>(parted.first - left.prompt.begin());
}

TEST(Workload, equal_hash_ids_are_equal_tokens_and_others_are_not) {
  EXPECT_EQ(common_tokens(item(0, 1200, 1, {4, 5, 6}), item(0, 1200, 1, {4, 5, 6})), 1200u);
  EXPECT_EQ(common_tokens(item(0, 1200, 1, {4, 5, 6}), item(0, 1100, 1, {4, 5, 6})), 1100u)
      << "the last block is cut short";
  EXPECT_EQ(common_tokens(item(0, 1100, 1, {4, 5, 6}), item(0, 2000, 1, {4, 5, 6, 7})), 1100u);
  const std::size_t common =
      common_tokens(item(0, 1200, 1, {4, 5, 6}), item(0, 1200, 1, {4, 8, 6}));
  EXPECT_GE(common, 512u);
  EXPECT_LT(common, 516u) << "a few bytes may agree by chance";
  for (const TokenId token : make_request(item(0, 1200, 1, {4, 5, 6}), 0).prompt) {
    EXPECT_GE(token.value, 1u);
    EXPECT_LE(token.value, 256u);
  }
}

TEST(Workload, mixed_priorities_take_turns) {
  Workload workload = synthetic_workload(4);
  mix_priorities(workload);
  EXPECT_EQ(workload[0].priority, Priority::low);
  EXPECT_EQ(make_request(workload[1], 1).priority, Priority::normal);
  EXPECT_EQ(make_request(workload[2], 2).priority, Priority::high);
  EXPECT_EQ(workload[3].priority, Priority::low);
}

}  // namespace
}  // namespace forge::apps
