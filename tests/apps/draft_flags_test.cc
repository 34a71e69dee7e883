// What a command line says of drafts, and what the header of a trace keeps of it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/parsed_options.h"
#include "forge/runtime/target_header.h"
#include "forge/trace/trace_header.h"

namespace forge::apps {
namespace {

TEST(DraftFlags, what_proposes_drafts_says_how_many_and_when_they_pay) {
  using executor::DraftSource;
  const auto text = parsed({"--draft", "ngram"}).value();
  EXPECT_EQ(text.executor.draft_source, DraftSource::ngram);
  EXPECT_EQ(text.executor.drafts, 8U);
  EXPECT_EQ(text.scheduler.draft_lengths, DraftLengths::adaptive);
  EXPECT_EQ(text.scheduler.draft_break_even, 90U) << "of a model that fits the cache";
  EXPECT_EQ(parsed({"--model", "x.gguf", "--draft", "ngram"})->scheduler.draft_break_even, 20U);
  EXPECT_EQ(parsed({"--model", "x.gguf", "--draft", "y.gguf"})->scheduler.draft_break_even, 60U);
  EXPECT_EQ(text.source.draft, "");

  const auto file = parsed({"--draft", "./ngram", "--speculative", "3"}).value();
  EXPECT_EQ(file.executor.draft_source, DraftSource::model);
  EXPECT_EQ(file.executor.drafts, 3U);
  EXPECT_EQ(file.source.draft, "./ngram") << "a file of such a name has a slash";

  const auto layers = parsed({"--draft", "layers", "--draft-lengths", "fixed"}).value();
  EXPECT_EQ(layers.executor.draft_source, DraftSource::layers);
  EXPECT_EQ(layers.scheduler.draft_lengths, DraftLengths::fixed);
  EXPECT_EQ(parsed({"--draft", "ngram", "--speculative", "0"}).error(),
            "--speculative: 0, accepted beside --draft: 1 .. 64");
  EXPECT_EQ(parsed({"--draft", "ngram", "--draft-layers", "1"}).error(),
            "--draft-layers: accepted with --draft layers");
  EXPECT_EQ(parsed({"--target", "null", "--draft", "ngram"}).error(),
            "--draft does not apply to --target null");
  EXPECT_EQ(parsed({"--draft-break-even", "101"}).error(),
            "--draft-break-even: Value 101 not in range 0 to 100");
}

TEST(DraftFlags, are_refused_where_nothing_drafts) {
  for (const std::string flag : {"--draft-layers", "--draft-break-even"}) {
    EXPECT_EQ(parsed({flag, "1"}).error(), flag + ": accepted with --draft or --speculative");
    EXPECT_TRUE(parsed({flag, "1", "--speculative", "2"}));
  }
  EXPECT_EQ(parsed({"--draft-lengths", "fixed"}).error(),
            "--draft-lengths: accepted with --draft or --speculative");
  EXPECT_EQ(
      parsed({"--draft", "ngram", "--draft-lengths", "fixed", "--draft-break-even", "5"}).error(),
      "--draft-break-even: accepted with --draft-lengths adaptive");
}

TEST(DraftFlags, a_trace_header_says_what_proposed) {
  const auto options = parsed({"--draft", "ngram", "--draft-break-even", "35"}).value();
  const auto header = runtime::to_trace_header(
      options, {.instructions = "AVX-512",
                .model = runtime::ModelRecord{std::string(16, 'c'), std::string(32, 'd')}});
  EXPECT_EQ(header.target["draft_source"], "ngram");
  const auto read = runtime::from_trace_header(header);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options.scheduler, options.scheduler);
  EXPECT_EQ(executor_options(read->options), executor_options(options));
}

}  // namespace
}  // namespace forge::apps
