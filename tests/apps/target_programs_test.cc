// forge-bench, forge-trace and forge-infer on other targets than the CPU: what one recorded, the
// others answer bit for bit, logits included.
#include <nlohmann/json.hpp>
#include <set>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;

class TargetPrograms : public ProgramTest {
 protected:
  /// Records a run with everything in it on `target`; returns its digest.
  std::string record(const std::string& target, const std::string& flags) const {
    std::filesystem::remove(path("t.jsonl"));
    const Outcome bench =
        run(FORGE_BENCH " --target " + target + " --trace " + path("t.jsonl") + " " + flags);
    EXPECT_EQ(bench.status, 0) << bench.output;
    return digest_after(bench.output, "digest");
  }

  Outcome replay(const std::string& flags, const std::string& trace = "t.jsonl") const {
    return run(FORGE_TRACE " replay " + path(trace) + " " + flags);
  }

  void expect_equal(const std::string& flags, const std::string& digest) const {
    const Outcome outcome = replay(flags);
    EXPECT_EQ(outcome.status, 0) << flags << '\n' << outcome.output;
    EXPECT_EQ(digest_after(outcome.output, "all equal"), digest) << flags;
  }

  /// Requests that share prefixes, in more blocks than there are.
  std::string crowded() const {
    std::ofstream workload(path("w.jsonl"));
    for (int i = 0; i < 10; ++i) {
      const int prompt_tokens = std::array{14, 30, 20, 44}[static_cast<std::size_t>(i % 4)];
      workload << json{{"timestamp", 10 * i},
                       {"input_length", prompt_tokens},
                       {"output_length", 12 + 2 * (i % 8)},
                       {"hash_ids", {i % 3}}}
               << '\n';
    }
    return "--workload " + path("w.jsonl") +
           " --model forge-tiny:layers=2,hidden_size=32,heads=4,kv_heads=2,ffn_size=64 "
           "--block-size 4 --num-blocks 24 --num-host-blocks 12 --max-batch-size 6 "
           "--max-batch-tokens 24 --prefill-chunk-size 8 --swap-setup-cost 4 --swap-block-cost 1";
  }

  void expect_everything_in_it() const {
    const json counts =
        json::parse(run(FORGE_TRACE " stats --json " + path("t.jsonl")).output, nullptr, false);
    for (const char* part : {"/prefix_cache/hits", "/preemptions/recompute", "/preemptions/swap",
                             "/copies/within", "/copies/swap_out", "/copies/swap_in"}) {
      EXPECT_GT(counts.value(json::json_pointer(part), 0), 0) << part;
    }
    EXPECT_NE(read_file(path("t.jsonl")).find(",0,false]"), std::string::npos) << "no chunks";
  }
};

TEST_F(TargetPrograms, what_the_cpu_recorded_the_simulated_gpu_answers_whatever_its_schedule) {
  for (const std::string mode :
       {"continuous", "speculative --draft-lengths fixed",
        "speculative --draft-lengths fixed --speculative 3 --draft forge-tiny:layers=1,seed=3"}) {
    const std::string digest = record("cpu", crowded() + " --mode " + mode);
    expect_everything_in_it();
    expect_equal("", digest);
    for (const std::string flags :
         {"", " --schedule-seed 1", " --schedule-seed 2 --graphs off", " --sim-threads 2",
          " --device l4 --schedule-seed 18446744073709551615"}) {
      expect_equal("--target sim" + flags, digest);
    }
  }
}

TEST_F(TargetPrograms, drafts_of_the_text_and_lengths_that_adapt_are_part_of_the_trace) {
  for (const std::string drafts :
       {"--draft ngram", "--draft ngram --draft-break-even 0", "--draft layers"}) {
    const std::string digest = record("cpu", crowded() + " --mode speculative " + drafts);
    EXPECT_NE(read_file(path("t.jsonl")).find(R"("draft_lengths":"adaptive")"), std::string::npos);
    const json counts =
        json::parse(run(FORGE_TRACE " stats --json " + path("t.jsonl")).output, nullptr, false);
    EXPECT_GT(counts["drafts"]["proposed"], 0) << drafts;
    expect_equal("", digest);
    expect_equal("--target sim", digest);
  }
}

TEST_F(TargetPrograms, the_type_of_kv_is_part_of_the_trace_and_means_the_same_on_both_targets) {
  std::set<std::string> digests;
  for (const std::string type : {"f32", "bf16", "f16"}) {
    const std::string digest = record("cpu", crowded() + " --mode continuous --kv " + type);
    const bool is_named = read_file(path("t.jsonl")).find("\"kv\":\"" + type) != std::string::npos;
    EXPECT_EQ(is_named, type != "f32");
    expect_everything_in_it();
    expect_equal("", digest);
    expect_equal("--target sim", digest);
    digests.insert(digest);
  }
  EXPECT_EQ(digests.size(), 3U) << "of logits";
}

TEST_F(TargetPrograms, what_the_simulated_gpu_recorded_with_a_draft_model_the_cpu_answers) {
  const std::string digest =
      record("sim", crowded() +
                        " --mode speculative --speculative 3 --draft "
                        "forge-tiny:layers=2,hidden_size=32,heads=4,kv_heads=2,ffn_size=64,seed=1");
  EXPECT_NE(read_file(path("t.jsonl")).find(R"("draft":{"config":)"), std::string::npos);
  expect_equal("--target cpu", digest);
  expect_equal("--target sim --sim-checked", digest);
}

TEST_F(TargetPrograms, what_the_simulated_gpu_recorded_the_cpu_answers) {
  const std::string digest = record("sim", crowded() + " --mode speculative --device a100");
  EXPECT_NE(read_file(path("t.jsonl")).find(R"("device":"simulated NVIDIA A100)"),
            std::string::npos);
  EXPECT_NE(read_file(path("t.jsonl")).find(R"("kind":"sim")"), std::string::npos);
  expect_equal("--target cpu", digest);
  expect_equal("", digest);
}

TEST_F(TargetPrograms, an_edited_trace_differs_on_the_simulated_gpu) {
  record("cpu", "--requests 2 --model forge-tiny:layers=1 --mode continuous --block-size 4");
  std::string text = read_file(path("t.jsonl"));
  // A digit of the digest of some logits.
  const std::size_t logits = text.find("\"logits\":[\"", text.find("{\"step\":{\"step\":5,"));
  ASSERT_NE(logits, std::string::npos);
  char& digit = text[logits + 14];
  digit = digit == '0' ? '1' : '0';
  std::ofstream(path("edited.jsonl"), std::ios::binary) << text;
  const Outcome outcome = replay("--target sim", "edited.jsonl");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("step 5 (line "), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("result.logits"), std::string::npos) << outcome.output;
}

TEST_F(TargetPrograms, a_run_of_other_bits_is_refused_by_what_differs) {
  record("cpu", "--requests 1 --model forge-tiny:layers=1 --mode continuous");
  const std::string text = read_file(path("t.jsonl"));
  const std::string events = text.substr(text.find('\n'));
  const json header = json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(header["target"]["numerics"], "canonical");
  const auto expect_refused = [&](const json& patch, const std::string& flags,
                                  const std::string& message) {
    json changed = header;
    changed["target"].merge_patch(patch);
    std::ofstream(path("other.jsonl"), std::ios::binary) << changed.dump() << events;
    const Outcome other = replay(flags, "other.jsonl");
    EXPECT_EQ(other.status, 2) << other.output;
    EXPECT_NE(other.output.find("other.jsonl: line 1: target." + message), std::string::npos)
        << other.output;
  };
  expect_refused({{"numerics", "fast-bf16"}}, "--target sim",
                 R"(numerics is "fast-bf16"; accepted is "canonical", "native", "fast")");
  const json of_another_machine = {{"numerics", "native"}, {"instructions", "VNNI-1024"}};
  expect_refused(
      of_another_machine, "",
      R"(instructions is "VNNI-1024", and numerics "native"; this machine computes with)");
  expect_refused(of_another_machine, "--target sim",
                 R"(numerics is "native", accepted for --target sim: "canonical")");
  const std::string weights = header["target"]["model"]["weights"];
  expect_refused({{"model", {{"seed", 2}}}}, "",
                 "model.weights is \"" + weights + "\", that of 'forge-tiny' is \"");
  const std::string config = header["target"]["model"]["config"];
  expect_refused({{"model", {{"rope_base", 9999.0}}}}, "--target sim",
                 "model.config is \"" + config + "\", that of 'forge-tiny' is \"");
}

/// A model of bf16 that tensor cores take, and its run on the simulated ones.
TEST_F(TargetPrograms, a_fast_run_replays_on_the_tensor_cores_of_its_generation_and_nowhere_else) {
  std::ofstream(path("config.json")) << json{{"architectures", {"LlamaForCausalLM"}},
                                             {"model_type", "llama"},
                                             {"hidden_size", 64},
                                             {"intermediate_size", 96},
                                             {"num_attention_heads", 4},
                                             {"num_key_value_heads", 2},
                                             {"head_dim", 16},
                                             {"num_hidden_layers", 2},
                                             {"vocab_size", 320},
                                             {"max_position_embeddings", 512},
                                             {"rms_norm_eps", 1e-5},
                                             {"rope_theta", 10000.0},
                                             {"hidden_act", "silu"}};
  const std::string model = path("m.gguf");
  ASSERT_EQ(
      run(FORGE_MODEL " random --type BF16 --config " + path("config.json") + " " + model).status,
      0);
  const std::string flags = "--requests 3 --mode continuous --model " + model;
  const std::string digest = record("sim", flags + " --numerics fast --device h100");
  const json header = json::parse(
      read_file(path("t.jsonl")).substr(0, read_file(path("t.jsonl")).find('\n')))["target"];
  EXPECT_EQ(header["numerics"], "fast");
  EXPECT_EQ(header["fast"], json({{"version", 1}, {"step", "mma-sm90"}}));
  EXPECT_EQ(header["kv"], "bf16");
  expect_equal("--target sim", digest);
  expect_equal("--target sim --schedule-seed 5 --graphs off --chunk-rows 3", digest);
  const auto expect_refused = [&](const std::string& where, const std::string& message) {
    const Outcome outcome = replay(where);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.output.find(message), std::string::npos) << outcome.output;
  };
  expect_refused("--target sim --device a100",
                 "line 1: target.fast.step is \"mma-sm90\", the tensor cores of this device have "
                 "\"mma-sm80\"");
  expect_refused("--target cpu",
                 "line 1: target.numerics is \"fast\", accepted for --target cpu: \"canonical\", "
                 "\"native\"");

  EXPECT_NE(record("sim", flags), digest) << "canonical, unless it is asked for";
  expect_equal("--target cpu", record("sim", flags + " --numerics canonical"));
  const Outcome f32 = run(FORGE_BENCH " --target sim --numerics fast --kv f32 " + flags);
  EXPECT_EQ(f32.status, 2);
  EXPECT_NE(f32.output.find("--kv f32, accepted with --numerics fast: bf16, f16"),
            std::string::npos)
      << f32.output;
  const Outcome shape = run(FORGE_BENCH " --target sim --numerics fast");
  EXPECT_EQ(shape.status, 2);
  EXPECT_NE(shape.output.find("--numerics fast: forge-tiny: weights of f32, accepted with fast "
                              "numerics: bf16, f16, codes"),
            std::string::npos)
      << shape.output;
}

TEST_F(TargetPrograms, a_trace_of_version_2_replays) {
  const std::string digest =
      record("cpu", "--requests 2 --model forge-tiny:layers=2 --mode speculative");
  const std::string text = read_file(path("t.jsonl"));
  json header = json::parse(text.substr(0, text.find('\n')));
  header["forge_trace"] = 2;
  header["target"].merge_patch({{"numerics", "canonical-fp32"},
                                {"instructions", nullptr},
                                {"acceptance", "shared_noise"},
                                {"model", {{"config", nullptr}, {"weights", nullptr}}}});
  std::ofstream(path("t.jsonl"), std::ios::binary) << header.dump() << text.substr(text.find('\n'));
  expect_equal("", digest);
  expect_equal("--target sim", digest);
}

TEST_F(TargetPrograms, a_trace_without_a_model_replays_without_a_target) {
  record("null", "--requests 1");
  const Outcome null = replay("--target sim");
  EXPECT_EQ(null.status, 2);
  EXPECT_NE(null.output.find("no model ran"), std::string::npos) << null.output;
}

TEST_F(TargetPrograms, flags_without_a_use_are_refused_by_every_program) {
  const auto expect_refused = [](const std::string& command, const std::string& message) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_NE(outcome.output.find(message), std::string::npos) << command << '\n' << outcome.output;
  };
  expect_refused(FORGE_BENCH " --target sim --step-us 5",
                 "--step-us does not apply to --target sim");
  expect_refused(FORGE_BENCH " --device l4", "--device does not apply to --target cpu");
  expect_refused(FORGE_INFER " --sim-checked", "--sim-checked does not apply to --target cpu");
  expect_refused(FORGE_BENCH " --target sim --device h2000", "h2000");
  expect_refused(FORGE_BENCH " --target cuda --device first", "--device is 'first'");
  expect_refused(FORGE_BENCH " --target cuda --device 99", "forge-bench: ");
  record("cpu", "--requests 1 --model forge-tiny:layers=1 --mode continuous");
  expect_refused(FORGE_TRACE " replay --schedule-seed 3 " + path("t.jsonl"),
                 "--schedule-seed does not apply to --target cpu");
}

TEST_F(TargetPrograms, the_bench_predicts_times_of_a_device_and_writes_them_as_json) {
  const std::string flags = crowded() + " --mode continuous --json " + path("b.json");
  std::map<std::string, double> step_us;
  for (const std::string device : {"h200", "l4"}) {
    record("sim", flags + " --device " + device);
    const json predicted =
        json::parse(read_file(path("b.json")), nullptr, false)["runs"][0]["predicted"];
    EXPECT_EQ(predicted["calibrated"], device == "h200");
    step_us[device] = predicted["step_us"]["p50"];
    EXPECT_GT(step_us[device], 0);
  }
  EXPECT_NE(step_us["h200"], step_us["l4"]);
}

TEST_F(TargetPrograms, the_server_answers_alike_on_the_cpu_and_on_the_simulated_gpu) {
  const json body = {
      {"model", "forge-tiny"}, {"prompt", "Once upon a time"}, {"max_tokens", 12}, {"seed", 5}};
  std::map<std::string, std::string> text;
  for (const std::string target : {"cpu", "sim"}) {
    const ServerProcess server({"--target", target, "--speculative", "2"});
    const auto answer = server.complete(body);
    ASSERT_EQ(answer.status, 200U) << answer.body;
    text[target] = answer.json()["choices"][0]["text"].dump();
  }
  EXPECT_EQ(text["cpu"], text["sim"]);
  EXPECT_GT(text["cpu"].size(), 2u);
}

}  // namespace
}  // namespace forge::testing
