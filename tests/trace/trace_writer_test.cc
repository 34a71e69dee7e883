#include "forge/trace/trace_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "forge/trace/trace_json.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

const TraceHeader kHeader{
    {.cache = {.num_blocks = 6, .block_size = 1}, .batch = {.max_batch_size = 4}}};

/// Takes the first `room` bytes, then fails, as a full disk does.
class FullDisk : public std::streambuf {
 public:
  explicit FullDisk(std::streamsize room) : room_(room) {}

 protected:
  std::streamsize xsputn(const char*, std::streamsize n) override {
    const std::streamsize taken = std::min(n, room_);
    room_ -= taken;
    return taken;
  }
  int overflow(int) override { return traits_type::eof(); }

 private:
  std::streamsize room_;
};

TEST(TraceWriter, writes_the_header_and_a_line_an_event) {
  std::ostringstream out;
  TraceWriter writer(out, kHeader);
  const Request request = testing::request(2, 4);
  StepPlan plan;
  plan.slices = {{SeqId{1}, 0, 2, 0, true}};
  StepResult result;
  writer.submit(SeqId{1}, request);
  writer.step(plan, result, {});
  writer.cancel(SeqId{1}, FinishReason::stop);
  writer.release_session(SessionId{7});
  writer.clear_prefix_cache();
  const StepEvent step{plan, result, {}, RunDigest().add(plan, result)};
  EXPECT_EQ(out.str(), to_json_line(kHeader) + "\n" +
                           to_json_line(TraceEvent(SubmitEvent{SeqId{1}, request})) + "\n" +
                           to_json_line(TraceEvent(step)) + "\n" +
                           to_json_line(TraceEvent(CancelEvent{SeqId{1}, FinishReason::stop})) +
                           "\n" + to_json_line(TraceEvent(ReleaseSessionEvent{SessionId{7}})) +
                           "\n" + to_json_line(TraceEvent(ClearPrefixCacheEvent{})) + "\n");
}

TEST(TraceWriter, veils_tokens_where_the_header_says_so) {
  TraceHeader header = kHeader;
  header.tokens = TraceTokens::veiled;
  std::ostringstream out;
  TraceWriter writer(out, header);
  Request request = testing::request(2, 4);
  request.sampling.logit_bias = {{TokenId{5}, 1.0F}};
  writer.submit(SeqId{1}, request);
  EXPECT_EQ(out.str().find("[5,5]"), std::string::npos);
  EXPECT_EQ(out.str().find("logit_bias"), std::string::npos);
  StepPlan plan;
  plan.slices = {{SeqId{1}, 0, 2, 0, true}};
  const StepResult result{
      .slices = {{SeqId{1}, 0, 1}}, .tokens = {TokenId{7}}, .logits = {0xabcdef}};
  writer.step(plan, result, {});
  EXPECT_EQ(out.str().find("\"tokens\":[7]"), std::string::npos);
  EXPECT_EQ(out.str().find("logits"), std::string::npos);
}

TEST(TraceWriter, its_digest_is_that_of_the_run) {
  std::ostringstream out;
  TraceWriter writer(out, kHeader);
  EXPECT_EQ(writer.digest(), 0u);
  RunDigest run;
  StepPlan plan;
  StepResult result;
  for (std::uint64_t step = 0; step < 3; ++step) {
    plan.step = result.step = StepId{step};
    run.add(plan, result);
    writer.step(plan, result, {});
    EXPECT_EQ(writer.digest(), run.value());
  }
  EXPECT_EQ(writer.steps(), 3u);
}

TEST(TraceWriter, a_full_disk_is_reported) {
  FullDisk disk(500);
  std::ostream out(&disk);
  TraceWriter writer(out, kHeader);
  EXPECT_TRUE(writer.flush());
  for (int i = 0; i < 10; ++i) writer.cancel(SeqId{1}, FinishReason::cancelled);
  EXPECT_FALSE(writer.flush());
}

/// Keeps what it is given; fails from write number `failing` on, or at flush() if `failing` is 0.
class FailingOutput : public TraceOutput {
 public:
  explicit FailingOutput(int failing) : failing_(failing) {}

  Written write(std::string_view line) override {
    if (++writes_ == failing_) return tl::unexpected(std::string("told to fail"));
    text += line;
    return {};
  }
  Written flush() override {
    if (failing_ == 0) return tl::unexpected(std::string("told to fail"));
    return {};
  }

  std::string text;

 private:
  int failing_;
  int writes_ = 0;
};

TEST(TraceWriter, the_first_failed_write_ends_the_recording_and_is_remembered) {
  FailingOutput out(4);  // the third of the steps
  TraceWriter writer(out, kHeader);
  RunDigest run;
  StepPlan plan;
  StepResult result;
  for (std::uint64_t step = 0; step < 5; ++step) {
    plan.step = result.step = StepId{step};
    run.add(plan, result);
    writer.step(plan, result, {});
    EXPECT_EQ(writer.flush(), step < 2) << step;
    EXPECT_EQ(writer.failure().has_value(), step >= 2) << step;
  }
  EXPECT_EQ(writer.failure(), "told to fail");
  EXPECT_EQ(writer.steps_flushed(), 2u);
  EXPECT_EQ(testing::lines_of(out.text).size(), 3u) << "the header and two steps";
  EXPECT_EQ(writer.digest(), run.value()) << "the run goes on";
}

TEST(TraceWriter, an_output_that_fails_takes_no_other_one_along) {
  FailingOutput failing(2);
  FailingOutput sound(-1);
  FailingOutput at_flush(0);
  TraceWriter writer(std::array<TraceOutput*, 3>{&failing, &sound, &at_flush}, kHeader);
  for (int i = 0; i < 3; ++i) writer.cancel(SeqId{1}, FinishReason::cancelled);
  EXPECT_FALSE(writer.flush());
  writer.cancel(SeqId{1}, FinishReason::cancelled);
  EXPECT_EQ(testing::lines_of(failing.text).size(), 1U) << "the header";
  EXPECT_EQ(testing::lines_of(sound.text).size(), 5U);
  EXPECT_EQ(testing::lines_of(at_flush.text).size(), 4U);
  EXPECT_EQ(writer.failure(), "told to fail");
}

TEST(TraceWriter, a_failed_flush_ends_the_recording_too) {
  FailingOutput out(0);
  TraceWriter writer(out, kHeader);
  EXPECT_EQ(writer.failure(), std::nullopt);
  EXPECT_FALSE(writer.flush());
  EXPECT_EQ(writer.failure(), "told to fail");
  const std::string before = out.text;
  writer.clear_prefix_cache();
  EXPECT_EQ(out.text, before);
}

}  // namespace
}  // namespace forge::trace
