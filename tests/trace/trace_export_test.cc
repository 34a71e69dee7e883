#include "forge/trace/trace_export.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using nlohmann::json;
using testing::request;

json exported(const std::string& text) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  std::ostringstream out;
  const auto events = export_perfetto(reader, out);
  json document = json::parse(out.str());
  EXPECT_EQ(document["traceEvents"].size(), events.value());
  return document;
}

/// One track as a reader of the format sees it: time goes forwards, slices nest.
class Track {
 public:
  void add(const json& event) {
    const std::string phase = event["ph"];
    const std::uint64_t ts = event["ts"];
    EXPECT_GE(ts, last_) << event;
    last_ = ts;
    while (!open_.empty() && open_.back().end && *open_.back().end <= ts) open_.pop_back();
    if (phase == "B") open_.push_back({event["name"], ts, std::nullopt});
    if (phase == "E") {
      ASSERT_FALSE(open_.empty()) << event;
      EXPECT_FALSE(open_.back().end) << "closed from inside: " << event;
      EXPECT_EQ(open_.back().name, event["name"]);
      open_.pop_back();
    }
    if (phase == "X") {
      const std::uint64_t end = ts + event["dur"].get<std::uint64_t>();
      EXPECT_GT(end, ts);
      ASSERT_FALSE(open_.empty()) << "outside of `running`: " << event;
      EXPECT_EQ(open_.front().name, "running");
      if (open_.back().end) {
        EXPECT_LE(end, *open_.back().end) << event;
      }
      open_.push_back({event["name"], ts, end});
    }
  }
  bool closed() {
    while (!open_.empty() && open_.back().end) open_.pop_back();
    return open_.empty();
  }

 private:
  struct Slice {
    std::string name;
    std::uint64_t begin;
    std::optional<std::uint64_t> end;
  };
  std::vector<Slice> open_;
  std::uint64_t last_ = 0;
};

void check(const json& document) {
  std::map<std::uint64_t, Track> tracks;
  std::map<std::uint64_t, std::string> names;
  std::uint64_t last = 0;
  for (const json& event : document["traceEvents"]) {
    const std::string phase = event["ph"];
    ASSERT_TRUE(event["name"].is_string());
    ASSERT_TRUE(event["pid"].is_number_unsigned());
    ASSERT_TRUE(event["tid"].is_number_unsigned());
    if (phase == "M") {
      if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
      continue;
    }
    const std::uint64_t ts = event["ts"];
    // Parts of a step come after its start, and the next step after them.
    EXPECT_GE(ts / 1000, last / 1000) << event;
    last = ts;
    if (phase == "C") {
      EXPECT_EQ(event["pid"], 2);
      EXPECT_TRUE(event["args"]["value"].is_number_unsigned());
      continue;
    }
    EXPECT_EQ(event["pid"], 1);
    EXPECT_NE(std::string("BEXi").find(phase), std::string::npos) << event;
    EXPECT_TRUE(names.contains(event["tid"])) << "no name for the track of " << event;
    tracks[event["tid"]].add(event);
  }
  EXPECT_EQ(tracks.size(), names.size());
  for (auto& [tid, track] : tracks) EXPECT_TRUE(track.closed()) << "track " << tid;
}

TEST(Export, tracks_are_named_nested_and_in_order) {
  check(exported(testing::small_trace()));
  check(exported(testing::eventful_trace()));
  check(exported(testing::eventful_trace(PreemptionPolicy::recompute)));
}

TEST(Export, a_failed_step_and_a_run_cut_short_are_tracks_too) {
  testing::HashExecutor executor;
  executor.failing_steps = {9, 30};
  check(exported(
      testing::record({{.cache = {.num_blocks = 12, .block_size = 4, .num_host_blocks = 12},
                        .batch = {.max_batch_size = 4},
                        .preemption = PreemptionPolicy::swap}},
                      std::vector<Request>(12, request(9, 15)), executor)));
  auto lines = testing::lines_of(testing::eventful_trace());
  for (const std::uint64_t step : {1u, 9u, 14u, 20u}) {
    auto some = lines;
    some.resize(testing::line_of_step(lines, step));
    check(exported(testing::joined(some)));
  }
}

/// Names of what happens in a track, in order, with the step in which it starts.
std::vector<std::string> story_of(const json& document, std::uint64_t seq) {
  std::vector<std::string> story;
  for (const json& event : document["traceEvents"]) {
    if (event["pid"] != 1 || event["tid"] != seq) continue;
    if (event["ph"] == "M" || event["ph"] == "E") continue;
    story.push_back(std::to_string(event["ts"].get<std::uint64_t>() / 1000) + " " +
                    event["name"].get<std::string>());
  }
  return story;
}

TEST(Export, a_track_tells_the_story_of_its_sequence) {
  const json document = exported(testing::small_trace());
  EXPECT_EQ(story_of(document, 2),
            (std::vector<std::string>{"0 waiting", "0 running", "0 prefill", "1 waiting",
                                      "4 running", "4 recompute", "5 decode", "6 length"}));
  EXPECT_EQ(story_of(document, 3), (std::vector<std::string>{"0 waiting", "0 running", "0 prefill",
                                                             "1 waiting", "2 cancelled"}));
}

TEST(Export, a_lost_target_sends_the_batch_back_to_wait) {
  testing::HashExecutor executor;
  executor.lost_steps = {2};
  const json document = exported(
      testing::record({{.cache = {.num_blocks = 12, .block_size = 4}}}, {request(5, 4)}, executor));
  check(document);
  EXPECT_EQ(story_of(document, 1),
            (std::vector<std::string>{"0 waiting", "0 running", "0 prefill", "1 decode", "2 decode",
                                      "3 KV lost", "3 waiting", "3 running", "3 recompute",
                                      "4 decode", "5 length"}));
}

TEST(Export, swaps_chunks_and_drafts_have_their_own_names) {
  const json document = exported(testing::eventful_trace());
  std::map<std::string, std::size_t> count;
  std::uint64_t proposed = 0;
  std::uint64_t accepted = 0;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == "E") continue;
    ++count[event["name"]];
    if (event["name"] != "drafts") continue;
    proposed += event["args"]["proposed"].get<std::uint64_t>();
    accepted += event["args"]["accepted"].get<std::uint64_t>();
  }
  EXPECT_EQ(count["swapped"], 1u);
  EXPECT_GT(count["prefill chunk"], 2u);
  EXPECT_EQ(count["deadline"], 1u);
  EXPECT_EQ(proposed, 43u);
  EXPECT_EQ(accepted, 20u);
}

TEST(Export, counters_change_when_the_state_does) {
  const json document = exported(testing::small_trace());
  std::vector<std::string> held;
  for (const json& event : document["traceEvents"]) {
    if (event["name"] != "blocks held") continue;
    held.push_back(std::to_string(event["ts"].get<std::uint64_t>()) + ":" +
                   std::to_string(event["args"]["value"].get<std::uint64_t>()));
  }
  EXPECT_EQ(held, (std::vector<std::string>{"0:6", "1000:3", "2000:4", "3000:5", "4000:4", "5000:5",
                                            "6000:0"}));
}

TEST(Export, a_contradictory_trace_is_an_error_with_its_line) {
  auto lines = testing::lines_of(testing::small_trace());
  lines.erase(lines.begin() + 2);
  std::istringstream in(testing::joined(lines));
  auto reader = TraceReader::open(in).value();
  std::ostringstream out;
  const auto events = export_perfetto(reader, out);
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().message, "sequence 2 is admitted but does not wait");
  EXPECT_EQ(events.error().line, 4u);
}

}  // namespace
}  // namespace forge::trace
