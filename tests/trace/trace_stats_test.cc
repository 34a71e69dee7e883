#include "forge/trace/trace_stats.h"

#include <gtest/gtest.h>

#include <sstream>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::request;

TraceStats stats_of(const std::string& text) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  return stats(reader).value();
}

std::uint64_t of(const TraceStats& s, FinishReason reason) {
  return s.finished[static_cast<std::size_t>(reason)];
}
std::uint64_t of(const TraceStats& s, CopyKind kind) {
  return s.copies[static_cast<std::size_t>(kind)];
}

// Counted by hand from the table of trace_show.h.
TEST(TraceStats, counts_the_run_that_show_prints) {
  const TraceStats s = stats_of(testing::small_trace());
  EXPECT_EQ(s.requests, 3u);
  EXPECT_EQ(of(s, FinishReason::length), 2u);
  EXPECT_EQ(of(s, FinishReason::cancelled), 1u);
  EXPECT_EQ(s.unfinished(), 0u);
  EXPECT_EQ(s.steps, 7u);
  EXPECT_EQ(s.prompt_tokens, 6u);
  EXPECT_EQ(s.generated_tokens, 3u + 1 + 1 + 1 + 1 + 1);
  EXPECT_EQ(s.run_tokens, 6u + 1 + 1 + 1 + 4 + 1);
  EXPECT_EQ(s.recomputed_tokens, 3u) << "of the four that sequence 2 runs in step 4";
  EXPECT_EQ(s.admissions, 3u);
  EXPECT_EQ(s.preemptions_recompute, 2u);
  EXPECT_EQ(s.batch_size, (TraceStats::Distribution{1, 3, 3}));
  EXPECT_EQ(s.batch_tokens, (TraceStats::Distribution{1, 6, 6}));
  EXPECT_EQ(s.blocks_peak, 6u);
  EXPECT_EQ(s.waiting_peak, 3u);
}

TEST(TraceStats, counts_prefix_hits_copies_swaps_and_drafts_as_the_scheduler_does) {
  const TraceHeader header{{.cache = {.num_blocks = 16, .block_size = 4, .num_host_blocks = 12},
                            .batch = {.max_batch_size = 6, .max_batch_tokens = 20},
                            .prefill_chunk_size = 8,
                            .preemption = PreemptionPolicy::swap}};
  testing::HashExecutor executor;
  executor.drafts = 3;
  testing::Recording run(header, executor);
  for (std::uint32_t i = 0; i < 30; ++i) run.submit(request(5 + i, 4 + i % 9));
  std::uint64_t host_copies = 0;
  std::uint64_t swaps = 0;
  while (run.scheduler().has_work()) {
    const StepPlan& plan = run.step();
    for (const BlockCopy& copy : plan.copies) host_copies += copy.kind == CopyKind::swap_out;
    for (const Preemption& p : plan.preempted) swaps += p.mode == PreemptionMode::swap;
  }
  const TraceStats s = stats_of(run.text());
  const PrefixCacheStatistics cache = run.scheduler().prefix_cache_statistics();
  EXPECT_GT(cache.hits, 0u);
  EXPECT_EQ(s.prefix_hits, cache.hits);
  EXPECT_EQ(s.cached_tokens, cache.hit_tokens);
  EXPECT_EQ(s.recovered_tokens, cache.recovered_tokens);
  EXPECT_EQ(s.admissions, 30u);
  EXPECT_GT(swaps, 0u);
  EXPECT_EQ(s.preemptions_swap, swaps);
  EXPECT_EQ(of(s, CopyKind::swap_out), host_copies);
  EXPECT_GT(s.drafts_accepted, 0u);
  EXPECT_GT(s.drafts_proposed, s.drafts_accepted);
  EXPECT_LE(s.blocks_peak, 16u);
  EXPECT_GT(s.host_blocks_peak, 0u);
}

TEST(TraceStats, bytes_are_those_of_the_file) {
  const std::string text = testing::eventful_trace();
  const TraceStats s = stats_of(text);
  EXPECT_EQ(s.bytes.total, text.size());
  std::uint64_t submissions = 0;
  std::uint64_t steps = 0;
  for (const std::string& line : testing::lines_of(text)) {
    if (line.rfind("{\"submit\"", 0) == 0) submissions += line.size() + 1;
    if (line.rfind("{\"step\"", 0) == 0) steps += line.size() + 1;
  }
  EXPECT_EQ(s.bytes.submissions, submissions);
  EXPECT_EQ(s.bytes.steps, steps);
  EXPECT_EQ(s.bytes.links, s.steps * 26);

  testing::HashExecutor quiet;
  quiet.logits_digests = false;
  const TraceHeader header{{.cache = {.num_blocks = 64}}};
  const std::vector<Request> requests(3, request(4, 5));
  const TraceStats with = stats_of(testing::record(header, requests));
  const TraceStats without = stats_of(testing::record(header, requests, quiet));
  EXPECT_EQ(with.bytes.total - without.bytes.total, with.bytes.logits_digests);
  EXPECT_EQ(without.bytes.logits_digests, 0u);
}

// What the size of a trace rests on: a decode is a short row in plan and result.
TEST(TraceStats, a_long_decode_takes_at_most_40_bytes_a_token) {
  testing::HashExecutor quiet;
  quiet.logits_digests = false;
  const TraceStats s =
      stats_of(testing::record({{.cache = {.num_blocks = 1024}, .batch = {.max_batch_size = 16}}},
                               std::vector<Request>(16, request(20, 900)), quiet));
  EXPECT_LT(s.bytes.steps, 40 * s.generated_tokens);
}

TEST(TraceStats, have_two_forms) {
  const TraceStats s = stats_of(testing::eventful_trace());
  std::ostringstream text;
  print(s, text);
  EXPECT_NE(text.str().find("requests      8, 7 length, 1 deadline\n"), std::string::npos);
  EXPECT_NE(text.str().find("preemptions   2 recompute, 1 swap\n"), std::string::npos);
  const auto object = to_json(s);
  EXPECT_EQ(object["finished"]["deadline"], 1);
  EXPECT_EQ(object["copies"]["swap_out"], 6);
  EXPECT_EQ(object["batch_tokens"]["max"], 12);
  EXPECT_EQ(object["bytes"]["total"], s.bytes.total);
}

TEST(TraceStats, an_empty_run_has_zeros_everywhere) {
  const std::string header = testing::lines_of(testing::small_trace())[0] + "\n";
  const TraceStats s = stats_of(header);
  EXPECT_EQ(s.batch_size, TraceStats::Distribution{});
  EXPECT_EQ(s.bytes.total, header.size());
  std::ostringstream text;
  print(s, text);
  EXPECT_NE(text.str().find("0.0 per generated token"), std::string::npos);
}

TEST(TraceStats, a_run_cut_short_has_unfinished_requests) {
  auto lines = testing::lines_of(testing::small_trace());
  lines.resize(testing::line_of_step(lines, 3));
  EXPECT_EQ(stats_of(testing::joined(lines)).unfinished(), 2u);
}

}  // namespace
}  // namespace forge::trace
