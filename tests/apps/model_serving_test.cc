// Models from files, as a user runs them: served over HTTP, measured, recorded and replayed.
#include <cmath>
#include <fstream>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/programs.h"
#include "apps/server_process.h"
#include "dump_file.h"
#include "trained_checkpoints.h"

namespace forge::testing {
namespace {

using nlohmann::json;

/// Greedy continuation of `prompt`.
json complete(const ServerProcess& server, const std::string& model, const std::string& prompt,
              int max_tokens) {
  return server
      .complete(
          {{"model", model}, {"prompt", prompt}, {"max_tokens", max_tokens}, {"temperature", 0}})
      .json();
}

/// A trained checkpoint, by its directory or as GGUF.
struct Served {
  TrainedCheckpoint checkpoint;
  bool is_gguf;

  std::string path() const { return is_gguf ? checkpoint.gguf() : checkpoint.folder; }
  std::string label() const { return checkpoint.label() + (is_gguf ? "_gguf" : "_safetensors"); }
};

void PrintTo(const Served& served, std::ostream* out) { *out << served.label(); }

class Stories : public ProgramTest, public ::testing::WithParamInterface<Served> {
 protected:
  void SetUp() override {
    const TrainedCheckpoint& checkpoint = GetParam().checkpoint;
    if (const std::string why = checkpoint.why_skip(); !why.empty()) GTEST_SKIP() << why;
    ProgramTest::SetUp();
    golden_ = json::parse(read_file(checkpoint.golden()))["cases"];
  }

  static std::string model() { return GetParam().path(); }
  static std::string name() { return GetParam().checkpoint.name; }

  /// The golden texts were made with 200 steps, begin-of-text not counted.
  static int tokens_after(const json& answer) {
    return 201 - answer["usage"]["prompt_tokens"].get<int>();
  }

  json golden_;
};

TEST_P(Stories, are_told_over_http_as_an_independent_engine_tells_them) {
  const ServerProcess server({"--model", model(), "--threads", "2"});
  for (const json& story : golden_) {
    const int tokens = tokens_after(complete(server, name(), story["prompt"], 1));
    const json answer = complete(server, name(), story["prompt"], tokens);
    if (story.contains("ends")) {
      EXPECT_EQ(answer["choices"][0]["finish_reason"], story["ends"] ? "stop" : "length");
    }
    EXPECT_EQ(story["prompt"].get<std::string>() + answer["choices"][0]["text"].get<std::string>(),
              story["text"]);
  }
}

TEST_P(Stories, eight_at_once_are_those_told_alone_on_each_target_drafted_and_preempted_or_not) {
  // 40 blocks of 16 hold three of the eight.
  const TrainedCheckpoint& checkpoint = GetParam().checkpoint;
  const std::string half = std::to_string((checkpoint.layers + 1) / 2);
  const std::vector<std::vector<std::string>> kinds = {
      {},
      {"--num-blocks", "40", "--prefill-chunk-size", "3"},
      {"--speculative", "4", "--draft-layers", half},
      {"--speculative", "4", "--draft", checkpoint.gguf()},
      {"--target", "sim", "--num-blocks", "40", "--prefill-chunk-size", "3"},
      {"--target", "sim", "--speculative", "4", "--draft", checkpoint.gguf()}};
  for (std::vector<std::string> flags : kinds) {
    flags.insert(flags.end(), {"--model", model()});
    const ServerProcess server(flags);
    std::vector<std::future<json>> answers;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::string prompt = golden_[i % golden_.size()]["prompt"];
      answers.push_back(std::async(
          std::launch::async, [&server, prompt] { return complete(server, name(), prompt, 190); }));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      const json& story = golden_[i % golden_.size()];
      const std::string text = story["prompt"].get<std::string>() +
                               answers[i].get()["choices"][0]["text"].get<std::string>();
      EXPECT_EQ(text, story["text"].get<std::string>().substr(0, text.size())) << flags.front();
      EXPECT_GT(text.size(), 300U) << flags.front();
    }
  }
}

TEST_P(Stories, have_the_log_likelihood_that_dumped_logits_give) {
  const ServerProcess server({"--model", model(), "--prefill-chunk-size", "7"});
  for (const json& story : golden_) {
    const std::string text = story["text"].get<std::string>().substr(0, 200);
    std::ofstream(path("prompt")) << text;
    const std::string dumped = path("logits.safetensors");
    const Outcome outcome = run(FORGE_MODEL " dump " + model() + " --prompt \"$(cat " +
                                path("prompt") + ")\" --points logits --force --out " + dumped);
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    const auto dump = apps::read_dump(dumped);
    ASSERT_TRUE(dump.has_value());
    const apps::DumpedPoint& logits = dump->points.front();
    double expected = 0;
    for (std::size_t row = 0; row + 1 < dump->tokens.size(); ++row) {
      const float* const of_row = logits.values.data() + row * logits.width;
      double mass = 0;
      for (std::size_t t = 0; t < logits.width; ++t) mass += std::exp(double{of_row[t]});
      expected += double{of_row[dump->tokens[row + 1]]} - std::log(mass);
    }

    const json answer = server
                            .complete({{"model", name()},
                                       {"prompt", text},
                                       {"max_tokens", 0},
                                       {"echo", true},
                                       {"logprobs", 1}})
                            .json();
    const json& told = answer["choices"][0]["logprobs"]["token_logprobs"];
    ASSERT_EQ(told.size(), dump->tokens.size());
    double found = 0;
    for (std::size_t i = 1; i < told.size(); ++i) found += told[i].get<double>();
    EXPECT_NEAR(found, expected, 1e-6 * std::abs(expected));
  }
}

TEST_P(Stories, a_context_that_is_too_long_is_refused_by_name_and_numbers) {
  const ServerProcess server({"--model", model()});
  const json answer = complete(server, name(), "The dog", 509);
  EXPECT_NE(answer["error"]["message"].get<std::string>().find("512"), std::string::npos) << answer;
  EXPECT_EQ(answer["error"]["code"], "context_length_exceeded");
}

TEST_P(Stories, a_recorded_run_is_replayed_and_a_moved_model_can_be_named) {
  const Outcome bench = run(FORGE_BENCH " --model " + model() + " --draft " + model() +
                            " --speculative 2 --mode speculative --requests 6 --num-blocks 24 "
                            "--trace " +
                            path("t.jsonl"));
  ASSERT_EQ(bench.status, 0) << bench.output;
  const std::string digest = digest_after(bench.output, "digest");
  for (const std::string& flags : {std::string(), " --model " + model()}) {
    const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl") + flags);
    EXPECT_EQ(replay.status, 0) << replay.output;
    EXPECT_EQ(digest_after(replay.output, "all equal"), digest);
  }
  const Outcome elsewhere = run(FORGE_TRACE " replay " + path("t.jsonl") + " --model nowhere");
  EXPECT_EQ(elsewhere.status, 2);
  EXPECT_NE(elsewhere.output.find("nowhere"), std::string::npos) << elsewhere.output;
  const Outcome on_sim = run(FORGE_TRACE " replay " + path("t.jsonl") + " --target sim");
  EXPECT_EQ(on_sim.status, 0) << on_sim.output;
  EXPECT_EQ(digest_after(on_sim.output, "all equal"), digest) << "logits, too, are the CPU's";
}

INSTANTIATE_TEST_SUITE_P(Of, Stories,
                         ::testing::Values(Served{kTales, false}, Served{kTales, true},
                                           Served{kStories, false}, Served{kStories, true}),
                         [](const auto& instance) { return instance.param.label(); });

class LoadedModelPrograms : public ProgramTest {
 protected:
  void expect_bench(const TrainedCheckpoint& checkpoint) const;
};

TEST_F(LoadedModelPrograms, a_vocabulary_without_room_for_the_tokenizer_is_refused_by_numbers) {
  const Outcome outcome = run(FORGE_INFER " --model " FORGE_GOLDEN_MODELS "/llama");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("has a vocabulary of 96 tokens, its tokenizer (none, so bytes) "
                                "needs 257"),
            std::string::npos)
      << outcome.output;
}

/// Each layer computes its products, and all of it is no more than the time of the passes.
void expect_profile(const json& profile) {
  double seconds = 0;
  std::map<std::string, int> layers;
  for (const json& operation : profile["operations"]) {
    seconds += operation["seconds"].get<double>();
    if (!operation["layer"].is_null()) ++layers[operation["operation"]];
  }
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, profile["seconds"]);
  EXPECT_GT(layers["gate_up"], 0);
  EXPECT_EQ(layers["gate_up"], layers["attention"]);
}

/// A table and the same as JSON.
void LoadedModelPrograms::expect_bench(const TrainedCheckpoint& checkpoint) const {
  const Outcome bench =
      run(std::string(FORGE_BENCH " --model ") + checkpoint.folder + " --threads 1 --json " +
          path("b.json") + " --profile " + path("timeline.json"));
  ASSERT_EQ(bench.status, 0) << bench.output;
  EXPECT_NE(bench.output.find("prefill 512"), std::string::npos) << bench.output;
  EXPECT_NE(bench.output.find(", loaded in "), std::string::npos) << bench.output;
  const json result = json::parse(read_file(path("b.json")));
  EXPECT_GT(result["load_seconds"], 0.0);
  ASSERT_EQ(result["cases"].size(), 7U);
  EXPECT_GT(result["cases"][0]["of_peak"], 0.0);
  EXPECT_LT(result["cases"][0]["of_peak"], 1.0);
  for (std::size_t i = 1; i < 7; ++i) {
    EXPECT_EQ(result["cases"][i]["rows"], 1 << (i - 1));
    EXPECT_GT(result["cases"][i]["tokens_per_second"], 0.0);
    EXPECT_GT(result["cases"][i]["of_read_rate"], 0.0);
  }
  // One limit for all: that of the line above the table.
  const double limit = result["read_bytes_per_second"];
  ASSERT_GT(limit, 0.0);
  for (std::size_t i = 1; i < 7; ++i) {
    const json& decode = result["cases"][i];
    const double rate = result["weight_bytes"].get<double>() / decode["best_pass_ms"].get<double>();
    EXPECT_DOUBLE_EQ(decode["of_read_rate"], rate * 1e3 / limit);
  }
  EXPECT_NE(bench.output.find("profile of decode 32: "), std::string::npos) << bench.output;
  ASSERT_EQ(result["profiles"].size(), 7U);
  for (const json& profile : result["profiles"]) expect_profile(profile);
  const json timeline = json::parse(read_file(path("timeline.json")));
  EXPECT_GT(timeline["traceEvents"].size(), result["profiles"].size() * 100);
}

TEST_F(LoadedModelPrograms, the_bench_of_a_model_has_speeds_and_ratios_as_table_and_json) {
  expect_bench(kTales);
}

TEST_F(LoadedModelPrograms, extra_the_bench_of_stories_has_speeds_and_ratios_as_table_and_json) {
  if (const std::string why = kStories.why_skip(); !why.empty()) GTEST_SKIP() << why;
  expect_bench(kStories);
}

TEST_F(LoadedModelPrograms, a_model_and_a_draft_of_codes_have_one_digest_on_both_targets) {
  const std::string quantized = path("small.gguf");
  ASSERT_EQ(run(FORGE_MODEL " quantize --type Q8_0 " FORGE_TALES " " + quantized).status, 0);
  const auto digest = [&](const std::string& target) {
    const Outcome outcome =
        run(FORGE_BENCH " --target " + target + " --model " + quantized + " --draft " + quantized +
            " --mode speculative --speculative 2 --requests 4");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    const std::size_t at = outcome.output.find("speculative  digest ");
    EXPECT_NE(at, std::string::npos) << outcome.output;
    return outcome.output.substr(at, 36);
  };
  EXPECT_EQ(digest("sim"), digest("cpu"));
}

TEST_F(LoadedModelPrograms, flags_that_make_no_sense_together_are_refused) {
  const auto expect_refused = [](const std::string& command, const std::string& message) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_NE(outcome.output.find(message), std::string::npos) << command << '\n' << outcome.output;
  };
  expect_refused(FORGE_INFER " --model forge-tiny:sed=3", "'sed' is no part of it");
  expect_refused(FORGE_INFER " --model x --kv-memory lots", "'lots' is no amount of memory");
  expect_refused(FORGE_INFER " --model x --kv-memory 1GiB --num-blocks 3", "--num-blocks excludes");
  expect_refused(FORGE_INFER " --model x --draft y --speculative 0",
                 "--speculative: 0, accepted beside --draft");
  expect_refused(FORGE_BENCH " --model x --requests 5",
                 "--requests beside --model needs --mode or --workload");
  expect_refused(FORGE_BENCH " --model nowhere", "nowhere: is neither a directory nor a file");
}

}  // namespace
}  // namespace forge::testing
