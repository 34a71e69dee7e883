// A recording that goes on in new files: together they are the trace that one file would be, and
// each but the first can be read without those before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "forge/trace/joined_files.h"
#include "forge/trace/replay.h"
#include "forge/trace/sequence_story.h"
#include "forge/trace/step_index.h"
#include "forge/trace/trace_bisect.h"
#include "forge/trace/trace_diff.h"
#include "forge/trace/trace_export.h"
#include "forge/trace/trace_json.h"
#include "forge/trace/trace_state.h"
#include "forge/trace/trace_stats.h"
#include "forge/trace/trace_timeline.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::eventful_files;
using testing::HashExecutor;
using ::testing::HasSubstr;
using testing::joined_files;
using testing::shared_files;

using Files = std::vector<std::string>;

/// Each run in one file, and in files of so many steps.
struct BothWays {
  std::string whole;
  Files files;
};
std::vector<BothWays> all_runs(std::uint64_t steps_a_file) {
  std::vector<BothWays> runs;
  const auto add = [&](const auto& record) {
    runs.push_back({joined_files(record(0)), record(steps_a_file)});
  };
  for (const auto preemption : {PreemptionPolicy::recompute, PreemptionPolicy::swap}) {
    add([&](std::uint64_t steps) {
      return eventful_files(preemption, TraceTokens::exposed, steps);
    });
  }
  add([](std::uint64_t steps) { return shared_files(steps); });
  return runs;
}

tl::expected<ReplayReport, TraceError> replayed(const std::string& text) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  return replay_plans(reader);
}

std::string replay_error(const std::string& text) {
  const auto report = replayed(text);
  return report ? report->difference ? to_string(report->difference->difference) : "none"
                : to_string(report.error());
}

std::uint64_t last_link(const std::string& text) {
  std::istringstream in(text);
  auto index = StepIndex::open(in).value();
  return index.find(StepId{index.end() - 1}).value().link;
}

TEST(TraceRotation, files_put_together_are_the_trace_that_one_file_would_be) {
  for (const std::uint64_t steps : {1U, 2U, 7U}) {
    for (const BothWays& run : all_runs(steps)) {
      ASSERT_GT(run.files.size(), 3U);
      std::istringstream whole(run.whole);
      std::istringstream parts(joined_files(run.files));
      auto left = TraceReader::open(whole).value();
      auto right = TraceReader::open(parts).value();
      const auto same = compare(left, right);
      ASSERT_TRUE(same.has_value()) << to_string(same.error().error);
      EXPECT_TRUE(same->equal()) << to_string(same->event->difference);
      const auto report = replayed(joined_files(run.files));
      ASSERT_TRUE(report.has_value()) << to_string(report.error());
      ASSERT_FALSE(report->difference) << to_string(report->difference->difference);
      EXPECT_EQ(report->digest, last_link(run.whole));
    }
  }
}

TEST(TraceRotation, each_file_replays_by_itself) {
  for (const std::uint64_t steps : {1U, 5U}) {
    for (const BothWays& run : all_runs(steps)) {
      for (const std::string& file : run.files) {
        const auto report = replayed(file);
        ASSERT_TRUE(report.has_value()) << to_string(report.error());
        ASSERT_FALSE(report->difference) << to_string(report->difference->difference);
      }
    }
  }
}

TEST(TraceRotation, veiled_files_replay_together_and_each_by_itself) {
  const Files files = eventful_files(PreemptionPolicy::swap, TraceTokens::veiled, 4);
  ASSERT_GT(files.size(), 3U);
  EXPECT_EQ(replay_error(joined_files(files)), "none");
  for (const std::string& file : files) EXPECT_EQ(replay_error(file), "none");
}

TEST(TraceRotation, a_file_goes_on_along_the_links_of_the_one_before) {
  const Files files = shared_files(9);
  for (std::size_t i = 1; i < files.size(); ++i) {
    std::istringstream in(files[i]);
    auto reader = TraceReader::open(in).value();
    const auto snapshot = std::get<SnapshotEvent>(reader.next().value().value());
    EXPECT_EQ(snapshot.link, last_link(files[i - 1]));
    LinkCheck links;
    links.begin(snapshot);
    while (auto event = reader.next().value()) {
      const auto* step = std::get_if<StepEvent>(&*event);
      ASSERT_FALSE(step != nullptr && links.add(*step));
    }
  }
}

/// What of a state does not depend on whether the trace begins with a snapshot: a target that was
/// made anew has the scheduler's tables, and recomputation before is not counted.
std::string described(const TraceState& state) {
  std::ostringstream out;
  out << "next " << state.next_step().value << " host " << state.host_blocks();
  for (const auto& [seq, s] : state.sequences()) {
    out << "\n"
        << seq.value << ' ' << name_of(s.place) << ' ' << s.is_queued << s.has_begun << s.ends
        << ' ' << s.prompt_tokens << '+' << s.output_tokens << '/' << s.max_new_tokens << " valid "
        << s.computed_tokens << " charged " << s.charged_tokens << " host " << s.host_blocks
        << " preempted " << s.preemptions << " submitted " << s.submitted.value << ' '
        << s.deadline_steps << ' ' << s.session.value_or(SessionId{}).value;
  }
  out << "\ncandidates";
  for (const TracedCandidate& c : state.candidates()) {
    out << ' ' << c.client.value << '/' << c.user.value << ':' << c.standing.key.seq.value << ' '
        << c.standing.client.served << ',' << c.standing.user.served;
  }
  out << "\nbatch";
  for (const TracedSequence* s : state.batch()) out << ' ' << s->seq.value;
  out << "\ncached";
  for (const auto& [block, node] : state.cached().all()) {
    out << ' ' << block.value << '@' << node.place << '<' << node.parent.value_or(BlockId{}).value;
  }
  return out.str();
}

TEST(TraceRotation, the_state_of_a_file_by_itself_is_that_of_the_whole_run) {
  for (const BothWays& run : all_runs(6)) {
    std::vector<std::string> states;
    std::istringstream whole(run.whole);
    auto timeline = TraceTimeline::open(whole).value();
    for (std::uint64_t step = 0; timeline.seek(StepId{step}).value(); ++step) {
      states.push_back(described(timeline.state()));
    }
    for (const std::string& file : run.files) {
      std::istringstream in(file);
      auto index = StepIndex::open(in).value();
      in.clear();
      in.seekg(0);
      auto alone = TraceTimeline::open(in).value();
      for (std::uint64_t step = index.first(); step < index.end(); ++step) {
        ASSERT_TRUE(alone.seek(StepId{step}).value());
        ASSERT_EQ(described(alone.state()), states[step]) << "step " << step;
      }
      if (index.end() == index.first()) continue;
      ASSERT_TRUE(alone.seek(StepId{0}).value());
      EXPECT_EQ(alone.moment().step.plan.step, StepId{index.first()}) << "the first that it has";
    }
  }
}

TEST(TraceRotation, steps_are_found_in_a_file_and_in_all_of_them) {
  const Files files = shared_files(20);
  for (const std::string& text : {files[1], joined_files(files)}) {
    std::istringstream in(text);
    auto index = StepIndex::open(in).value();
    for (std::uint64_t step = index.first(); step < index.end(); ++step) {
      const auto line = index.find(StepId{step}).value();
      EXPECT_EQ(text.substr(line.begin, 17 + std::to_string(step).size()),
                "{\"step\":{\"step\":" + std::to_string(step) + ",");
    }
  }
}

TEST(TraceRotation, runs_are_bisected_however_they_were_cut) {
  const Files files = shared_files(20);
  std::istringstream whole(joined_files(shared_files(0)));
  std::istringstream parts(joined_files(files));
  const auto same = bisect(whole, parts);
  ASSERT_TRUE(same.has_value()) << to_string(same.error().error);
  EXPECT_TRUE(same->comparison.equal());

  std::istringstream left(files[1]);
  std::istringstream right(files[1]);
  EXPECT_TRUE(bisect(left, right)->comparison.equal());

  std::istringstream later(files[2]);
  std::istringstream earlier(files[1]);
  EXPECT_EQ(bisect(earlier, later)->comparison.event->difference.field, "snapshot.next_step");
}

TEST(TraceRotation, what_a_file_tells_of_those_who_were_there_before) {
  const std::string file = eventful_files(PreemptionPolicy::swap, TraceTokens::exposed, 10)[1];
  std::istringstream in(file);
  auto reader = TraceReader::open(in).value();
  const auto snapshot = std::get<SnapshotEvent>(reader.next().value().value());
  ASSERT_FALSE(snapshot.requests.empty());
  const SeqId seq = snapshot.requests.front().submit.seq;

  const auto again = [&] {
    in.clear();
    in.seekg(0);
    return TraceReader::open(in).value();
  };
  auto for_story = again();
  const auto parts = story_of(for_story, seq).value().value();
  EXPECT_THAT(parts.front().words,
              HasSubstr("there when the trace begins, submitted before step "));
  auto for_stats = again();
  const TraceStats counted = stats(for_stats).value();
  EXPECT_GE(counted.requests, snapshot.requests.size());
  EXPECT_GT(counted.bytes.snapshots, 0U);
  auto for_export = again();
  std::ostringstream timeline;
  ASSERT_TRUE(export_perfetto(for_export, timeline).has_value());
  EXPECT_THAT(timeline.str(), HasSubstr("seq " + std::to_string(seq.value)));
}

TEST(TraceRotation, files_that_do_not_follow_each_other_are_refused) {
  const Files files = shared_files(20);
  EXPECT_THAT(replay_error(files[0] + files[2]),
              HasSubstr("goes on with step 40 where step 20 was to come"));
  EXPECT_THAT(replay_error(files[0] + files[0]), HasSubstr("another run begins here"));
  EXPECT_THAT(replay_error(files[0] + testing::small_trace()),
              HasSubstr("the header of another run"));
  const auto lines = testing::lines_of(files[1]);
  EXPECT_THAT(replay_error(files[1] + lines[1] + "\n"),
              HasSubstr("a snapshot stands after a header, and nowhere else"));
}

TEST(TraceRotation, a_snapshot_that_is_not_the_state_of_the_run_is_a_difference) {
  Files files = shared_files(20);
  files[1] = testing::replaced(files[1], "\"turns\":", "\"turns\":1");
  EXPECT_THAT(replay_error(joined_files(files)), HasSubstr("snapshot.shares.turns: 1"));
}

TEST(TraceRotation, a_snapshot_that_contradicts_itself_is_refused) {
  const std::string file = shared_files(20)[1];
  EXPECT_THAT(replay_error(testing::replaced(file, "\"running\":[", "\"running\":[4711,")),
              HasSubstr("snapshot: running: "));
  EXPECT_THAT(
      replay_error(testing::replaced(file, "\"requests\":[{\"seq\":", "\"requests\":[{\"seq\":9")),
      HasSubstr("of the snapshot is another one than this request"));
}

TEST(TraceRotation, each_file_replays_by_itself_on_a_target) {
  for (const std::string& file : eventful_files(PreemptionPolicy::swap, TraceTokens::exposed, 7)) {
    std::istringstream in(file);
    auto reader = TraceReader::open(in).value();
    HashExecutor executor;
    executor.drafts = 2;
    const auto report = replay(reader, executor, HashExecutor::kVocabulary);
    ASSERT_TRUE(report.has_value()) << to_string(report.error());
    EXPECT_FALSE(report->difference) << to_string(report->difference->difference);
  }
}

TEST(TraceRotation, tokens_that_a_target_does_not_know_are_refused_before_it_sees_them) {
  const std::string file = eventful_files(PreemptionPolicy::swap, TraceTokens::exposed, 10)[1];
  std::istringstream in(file);
  auto reader = TraceReader::open(in).value();
  HashExecutor executor;
  const auto report = replay(reader, executor, 5);
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().message, HasSubstr("requests: token 5 is not in 0..4"));
}

TEST(JoinedFiles, are_read_and_sought_as_one) {
  std::istringstream a("first\n");
  std::istringstream b("");
  std::istringstream c("second\nthird\n");
  const auto joined = JoinedFiles::open({a.rdbuf(), b.rdbuf(), c.rdbuf()});
  std::istream& in = joined->stream();
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "first\nsecond\nthird\n");
  in.clear();
  in.seekg(6);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "second");
  EXPECT_EQ(joined->file_of(0), 0U);
  EXPECT_EQ(joined->file_of(6), 2U);
  EXPECT_EQ(joined->file_of(99), 2U);
  in.seekg(0, std::ios::end);
  EXPECT_EQ(in.tellg(), 19);
}

}  // namespace
}  // namespace forge::trace
