#include "workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace forge {
namespace {

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

tl::expected<Workload, std::string> read(const std::string& text, std::size_t limit = 100) {
  std::istringstream in(text);
  return read_workload(in, limit);
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
  const Workload expected{{0, 374, 44}, {1'019'410, 396, 109}};
  EXPECT_EQ(workload.value(), expected);
}

TEST(Workload, the_first_rows_up_to_the_limit_are_sorted_by_arrival) {
  const auto workload = read(kHeader +
                                 "2023-11-16 18:15:46.2,2,2\n"
                                 "2023-11-16 18:15:46.1,1,1\n"
                                 "2023-11-16 18:15:46.0,0,0\n",
                             2);
  const Workload expected{{0, 1, 1}, {100'000, 2, 2}};
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

TEST(Workload, other_formats_and_empty_files_are_refused) {
  EXPECT_EQ(error_of("{\"timestamp\": 0}\n"),
            "line 1: unknown format '{\"timestamp\": 0}'; known: "
            "'TIMESTAMP,ContextTokens,GeneratedTokens'");
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
  const WorkloadItem item{0, 50, 9};
  const Request request = make_request(item, 3);
  EXPECT_EQ(request, make_request(item, 3));
  EXPECT_NE(request, make_request(item, 4));
  EXPECT_EQ(request.prompt.size(), 50u);
  EXPECT_EQ(request.max_new_tokens, 9u);
  EXPECT_TRUE(request.ignore_eos);
  for (const TokenId token : request.prompt) {
    EXPECT_GE(token.value, 1u);
    EXPECT_LE(token.value, 256u);
  }
  // A longer request begins like a shorter one.
  const Request longer = make_request({0, 80, 9}, 3);
  EXPECT_TRUE(std::equal(request.prompt.begin(), request.prompt.end(), longer.prompt.begin()));
}

}  // namespace
}  // namespace forge
