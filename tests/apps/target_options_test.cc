#include "forge/runtime/target_options.h"

#include <gtest/gtest.h>

#include "apps/parsed_options.h"
#include "forge/runtime/target_header.h"
#include "forge/trace/trace_header.h"

namespace forge::apps {
namespace {

TEST(TargetOptions, defaults_are_those_of_the_types) {
  const auto options = parsed({}).value();
  EXPECT_EQ(options.scheduler, SchedulerConfig());
  EXPECT_EQ(options.executor, executor::ExecutorOptions());
  EXPECT_EQ(options.device, runtime::DeviceOptions());
  EXPECT_EQ(options.kind, runtime::TargetKind::cpu);
}

TEST(TargetOptions, flags_reach_scheduler_and_executor) {
  const auto options =
      parsed({"--num-blocks", "64", "--block-size", "8", "--max-batch-size", "3", "--model",
              "forge-tiny:seed=18446744073709551615,layers=6,hidden_size=32,"
              "heads=2,kv_heads=1,ffn_size=48",
              "--speculative", "5"})
          .value();
  EXPECT_EQ(options.scheduler, (SchedulerConfig{.cache = {.num_blocks = 64, .block_size = 8},
                                                .batch = {.max_batch_size = 3},
                                                .draft_lengths = DraftLengths::adaptive,
                                                .draft_break_even = 90}));
  EXPECT_EQ(executor_options(options).cache.num_blocks, 64u);
  EXPECT_EQ(executor_options(options).cache.block_size, 8u);
  EXPECT_FALSE(options.source.is_file());
  EXPECT_EQ(options.source.builtin.random, (reference::TinyConfig{.hidden_size = 32,
                                                                  .layers = 6,
                                                                  .heads = 2,
                                                                  .kv_heads = 1,
                                                                  .head_size = 16,
                                                                  .ffn_size = 48,
                                                                  .seed = 18446744073709551615u}));
  EXPECT_EQ(options.executor.drafts, 5u);
  EXPECT_EQ(options.executor.draft_layers, 3) << "half of the layers unless given";
}

TEST(TargetOptions, the_size_of_the_batch_has_the_name_that_other_servers_have_for_it) {
  EXPECT_EQ(parsed({"--max-concurrent", "3"}).value().scheduler.batch.max_batch_size, 3U);
}

TEST(TargetOptions, every_number_of_the_policy_has_a_flag) {
  const auto options =
      parsed({"--num-host-blocks",     "11",   "--max-batch-tokens", "100",
              "--prefill-chunk-size",  "30",   "--watermark-blocks", "4",
              "--priority-head-start", "5",    "--preemption",       "swap",
              "--swap-setup-cost",     "6",    "--swap-block-cost",  "7",
              "--prefix-cache",        "hash", "--prefix-hash-key",  "18446744073709551615",
              "--session-idle-steps",  "9",    "--draft-lengths",    "adaptive",
              "--draft-break-even",    "44",   "--speculative",      "2"})
          .value();
  const SchedulerConfig expected{.cache = {.num_host_blocks = 11},
                                 .batch = {.max_batch_tokens = 100},
                                 .prefill_chunk_size = 30,
                                 .watermark_blocks = 4,
                                 .priority_head_start = 5,
                                 .preemption = PreemptionPolicy::swap,
                                 .swap_setup_cost = 6,
                                 .swap_block_cost = 7,
                                 .draft_lengths = DraftLengths::adaptive,
                                 .draft_break_even = 44,
                                 .prefix_cache = PrefixCacheKind::hash,
                                 .prefix_hash_key = 18446744073709551615u,
                                 .session_idle_steps = 9};
  EXPECT_EQ(options.scheduler, expected);
  EXPECT_EQ(executor_options(options).cache.num_host_blocks, 11u);
}

TEST(TargetOptions, flags_choose_the_device) {
  const auto sim = parsed({"--target", "sim", "--device", "l4", "--schedule-seed", "7",
                           "--sim-threads", "3", "--sim-checked", "--graphs", "off", "--overlap",
                           "off", "--chunk-rows", "64", "--gpu-memory", "0.25"})
                       .value();
  EXPECT_EQ(sim.kind, runtime::TargetKind::sim);
  EXPECT_EQ(sim.device, (runtime::DeviceOptions{.device = "l4",
                                                .graphs = false,
                                                .overlap = false,
                                                .schedule_seed = 7,
                                                .host_threads = 3,
                                                .checked = true,
                                                .chunk_rows = 64,
                                                .gpu_memory = 0.25}));
  const auto cuda = parsed({"--target", "cuda", "--device", "1"}).value();
  EXPECT_EQ(cuda.kind, runtime::TargetKind::cuda);
  EXPECT_EQ(cuda.device, runtime::DeviceOptions{.device = "1"});
  const auto alone = parsed({"--target", "cuda", "--matrix-library", "off"}).value();
  EXPECT_EQ(alone.device, runtime::DeviceOptions{.matrix_library = false});
}

TEST(TargetOptions, a_flag_without_a_use_is_refused_by_name) {
  const auto refused = [](std::vector<std::string> arguments) {
    const auto options = parsed(std::move(arguments));
    return options ? "accepted" : options.error();
  };
  EXPECT_EQ(refused({"--device", "h100"}), "--device does not apply to --target cpu");
  EXPECT_EQ(refused({"--graphs", "off"}), "--graphs does not apply to --target cpu");
  EXPECT_EQ(refused({"--overlap", "on"}), "--overlap does not apply to --target cpu");
  EXPECT_EQ(refused({"--chunk-rows", "9"}), "--chunk-rows does not apply to --target cpu");
  EXPECT_EQ(refused({"--gpu-memory", "0.5"}), "--gpu-memory does not apply to --target cpu");
  EXPECT_EQ(refused({"--target", "sim", "--matrix-library", "off"}),
            "--matrix-library does not apply to --target sim");
  EXPECT_EQ(refused({"--target", "cuda", "--schedule-seed", "1"}),
            "--schedule-seed does not apply to --target cuda");
  EXPECT_EQ(refused({"--target", "cuda", "--sim-threads", "2"}),
            "--sim-threads does not apply to --target cuda");
  EXPECT_EQ(refused({"--target", "cuda", "--sim-checked"}),
            "--sim-checked does not apply to --target cuda");
  EXPECT_EQ(refused({"--target", "null", "--model", "forge-tiny:layers=2"}),
            "--model does not apply to --target null");
  EXPECT_EQ(refused({"--target", "null", "--speculative", "2", "--draft-layers", "2"}),
            "--draft-layers does not apply to --target null");
  EXPECT_EQ(refused({"--target", "null", "--num-blocks", "2"}), "accepted");
}

TEST(TargetOptions, the_help_says_every_default) {
  CLI::App app;
  runtime::TargetOptions options;
  add_flags(app, options);
  const std::string help = app.help();
  for (const char* part : {"--num-blocks UINT:UINT in [1 - 4194304]=512", "--num-host-blocks",
                           "=4096", "=512", "=auto", "=radix", "=1000"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " is not in\n" << help;
  }
}

TEST(TargetOptions, bad_flags_name_flag_value_and_range) {
  const auto contains = [](const tl::expected<runtime::TargetOptions, std::string>& result,
                           const std::string& part) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().find(part), std::string::npos) << result.error();
  };
  contains(parsed({"--num-blocks", "0"}), "--num-blocks: Value 0 not in range 1 to 4194304");
  contains(parsed({"--speculative", "65"}), "--speculative: Value 65 not in range 0 to 64");
  contains(
      parsed({"--model", "forge-tiny:heads=3"}),
      "--model: 'forge-tiny:heads=3': hidden_size is 64, accepted: a multiple of 2 * heads, 6");
  contains(parsed({"--model", "forge-tiny:heads=4,kv_heads=3"}),
           "'forge-tiny:heads=4,kv_heads=3': heads is 4, accepted: a multiple of kv_heads, 3");
  contains(parsed({"--model", "forge-tiny:heads=0"}),
           "'forge-tiny:heads=0': heads is 0, accepted: 1 .. 1024");
  contains(parsed({"--model", "forge-tiny:seed=-1"}),
           "seed is '-1', accepted: 0 .. 18446744073709551615");
  contains(parsed({"--model", "forge-tiny:layers=2.5"}), "layers is '2.5', accepted: an integer");
  contains(parsed({"--model", "forge-tiny:depth=2"}), "'depth' is no part of it, accepted: seed,");
  contains(parsed({"--model", "forge-tiny:"}), "'' is not of the form KEY=VALUE");
  contains(parsed({"--model", "forge-tiny:seed=1,"}), "'' is not of the form KEY=VALUE");
  contains(parsed({"--preemption", "never"}), "--preemption: never not in {auto,recompute,swap}");
  contains(parsed({"--prefix-cache", "tree"}), "--prefix-cache: tree not in {hash,none,radix}");
  contains(parsed({"--session-idle-steps", "0"}), "--session-idle-steps: Value 0 not in range 1");
  contains(parsed({"--max-batch-tokens", "8", "--max-batch-size", "9"}),
           "max_batch_tokens is 8, accepted: 9 .. 4294967295");
  contains(parsed({"--watermark-blocks", "513"}), "watermark_blocks is 513, accepted: 0 .. 512");
  contains(parsed({"--speculative", "2", "--draft-layers", "5"}),
           "draft_layers is 5, accepted: 1 .. 4");
}

/// Of a CPU, with digests as long as they are.
runtime::RunRecord some_record() {
  return {.numerics = runtime::RunNumerics::native,
          .instructions = "AVX-512 BF16",
          .model = runtime::ModelRecord{std::string(16, 'c'), std::string(32, 'd')}};
}

TEST(TargetOptions, numerics_are_those_that_the_target_has) {
  using enum runtime::RunNumerics;
  EXPECT_EQ(parsed({})->source.numerics, automatic);
  EXPECT_EQ(parsed({"--numerics", "canonical"})->source.numerics, canonical);
  EXPECT_EQ(parsed({"--target", "sim", "--numerics", "canonical"})->source.numerics, canonical);
  EXPECT_EQ(parsed({"--target", "sim", "--numerics", "fast"})->source.numerics, fast);
  EXPECT_EQ(parsed({"--target", "null", "--numerics", "canonical"}).error(),
            "--numerics does not apply to --target null");
  EXPECT_EQ(parsed({"--numerics", "fast"}).error(),
            "--numerics fast: accepted with --target cpu: auto, canonical, native");
  EXPECT_EQ(parsed({"--target", "cuda", "--numerics", "native"}).error(),
            "--numerics native: accepted with --target cuda: auto, canonical, fast");
  EXPECT_EQ(parsed({"--numerics", "exact"}).error(),
            "--numerics: exact not in {auto,canonical,fast,native}");
}

TEST(TargetOptions, kv_is_that_of_the_numerics_unless_it_is_given) {
  EXPECT_FALSE(parsed({})->kv);
  EXPECT_EQ(parsed({"--kv", "f32"})->kv, numerics::KvType::f32);
}

TEST(TargetOptions, the_header_of_a_fast_run_says_which_step_it_was) {
  const auto options = parsed({"--target", "sim", "--numerics", "fast", "--kv", "bf16"}).value();
  runtime::RunRecord record{.numerics = runtime::RunNumerics::fast,
                            .fast = runtime::FastRecord{.version = 3, .step = "mma-sm80"},
                            .model = some_record().model};
  trace::TraceHeader header = runtime::to_trace_header(options, record, "simulated A100");
  EXPECT_EQ(header.target["numerics"], "fast");
  EXPECT_EQ(header.target["fast"], nlohmann::json({{"version", 3}, {"step", "mma-sm80"}}));
  const auto read = runtime::from_trace_header(header);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->record, record);
  EXPECT_EQ(read->options.source.numerics, runtime::RunNumerics::fast);

  record.fast->library = {
      .name = "cuBLASLt 13.1.0", .admitted = {"128 x 8 x 16 bf16: a"}, .refused = {}};
  const trace::TraceHeader with_library = runtime::to_trace_header(options, record, "an H200");
  EXPECT_EQ(with_library.target["fast"]["library"],
            nlohmann::json({{"name", "cuBLASLt 13.1.0"},
                            {"admitted", {"128 x 8 x 16 bf16: a"}},
                            {"refused", nlohmann::json::array()}}));
  EXPECT_EQ(runtime::from_trace_header(with_library)->record, record);

  header.target.erase("fast");
  EXPECT_EQ(runtime::from_trace_header(header).error(),
            "target.fast is missing; accepted is an object");
}

TEST(TargetOptions, kv_has_a_type_on_every_target_that_has_kv) {
  EXPECT_EQ(parsed({})->executor.kv_type, numerics::KvType::f32);
  EXPECT_EQ(parsed({"--kv", "f16"})->executor.kv_type, numerics::KvType::f16);
  EXPECT_EQ(parsed({"--target", "sim", "--kv", "bf16"})->executor.kv_type, numerics::KvType::bf16);
  EXPECT_EQ(parsed({"--target", "null", "--kv", "bf16"}).error(),
            "--kv does not apply to --target null");
  EXPECT_EQ(parsed({"--kv", "fp8"}).error(), "--kv: fp8 not in {bf16,f16,f32}");
}

TEST(TargetOptions, a_trace_header_gives_options_and_record_back) {
  auto options = parsed({"--num-blocks", "9", "--model", "forge-tiny:seed=18446744073709551615",
                         "--speculative", "2", "--numerics", "native"})
                     .value();
  const auto read = runtime::from_trace_header(runtime::to_trace_header(options, some_record()));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options.scheduler, options.scheduler);
  EXPECT_EQ(executor_options(read->options), executor_options(options));
  EXPECT_EQ(read->options.source, options.source);
  EXPECT_EQ(read->record, some_record());

  const auto trained = parsed({"--model", "forge-tiny", "--numerics", "native"}).value();
  EXPECT_EQ(trained.source.builtin, runtime::BuiltinModel());
  const auto header = runtime::to_trace_header(trained, some_record());
  EXPECT_EQ(header.target["model"]["trained"], "forge-tiny");
  EXPECT_EQ(runtime::from_trace_header(header)->options.source, trained.source);

  options = parsed({"--model", "x.gguf", "--draft", "y.gguf", "--speculative", "2", "--numerics",
                    "native"})
                .value();
  options.executor.draft_layers = 1;
  runtime::RunRecord record = some_record();
  record.draft = runtime::ModelRecord{std::string(16, 'e'), std::string(32, 'f')};
  const auto of_files = runtime::from_trace_header(runtime::to_trace_header(options, record));
  ASSERT_TRUE(of_files) << of_files.error();
  EXPECT_EQ(of_files->options.source, options.source);
  EXPECT_EQ(of_files->record, record);
}

TEST(TargetOptions, a_trace_header_names_the_type_of_kv_where_it_is_not_f32) {
  const auto f32 = parsed({"--kv", "f32"}).value();
  EXPECT_FALSE(runtime::to_trace_header(f32, some_record()).target.contains("kv"));
  for (const char* const type : {"bf16", "f16"}) {
    const auto options = parsed({"--kv", type}).value();
    const trace::TraceHeader header = runtime::to_trace_header(options, some_record());
    EXPECT_EQ(header.target["kv"], type);
    const auto read = runtime::from_trace_header(header);
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(executor_options(read->options), executor_options(options));
  }
}

TEST(TargetOptions, a_header_of_version_2_is_read_without_digests) {
  using nlohmann::json;
  const auto options = parsed({"--model", "forge-tiny:seed=3", "--speculative", "2"}).value();
  trace::TraceHeader header = runtime::to_trace_header(options, some_record());
  header.version = 2;
  header.target["acceptance"] = "shared_noise";
  header.target["numerics"] = "canonical-fp32";
  header.target.erase("instructions");
  json& model = header.target["model"];
  model.erase("config");
  model.erase("weights");
  const auto read = runtime::from_trace_header(header);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options.source.builtin, options.source.builtin);
  EXPECT_EQ(runtime::executor_options(read->options), runtime::executor_options(options));
  EXPECT_EQ(read->record, runtime::RunRecord());

  header.target["numerics"] = "native";
  model = {{"path", "x.gguf"}, {"draft", "y.gguf"}};
  const auto of_files = runtime::from_trace_header(header);
  ASSERT_TRUE(of_files) << of_files.error();
  EXPECT_EQ(of_files->options.source.path, "x.gguf");
  EXPECT_EQ(of_files->options.source.draft, "y.gguf");
  EXPECT_EQ(of_files->options.source.numerics, runtime::RunNumerics::native);
  EXPECT_EQ(of_files->record, runtime::RunRecord{.numerics = runtime::RunNumerics::native});

  header.target["acceptance"] = "never";
  EXPECT_EQ(runtime::from_trace_header(header).error(),
            R"(target.acceptance is "never"; accepted is "shared_noise")");
  header.version = 3;
  header.target.erase("acceptance");
  header.target["model"].erase("draft");
  EXPECT_NE(runtime::from_trace_header(header).error().find("target.instructions is missing"),
            std::string::npos);
}

TEST(TargetOptions, the_header_of_a_gpu_target_says_which_device_and_numerics) {
  const auto options = parsed({"--target", "sim", "--device", "l4", "--speculative", "2"}).value();
  const runtime::RunRecord record{.model = some_record().model};
  const trace::TraceHeader header =
      runtime::to_trace_header(options, record, "simulated NVIDIA L4");
  EXPECT_EQ(header.target["kind"], "sim");
  EXPECT_EQ(header.target["numerics"], "canonical");
  EXPECT_EQ(header.target["device"], "simulated NVIDIA L4");
  const auto read = runtime::from_trace_header(header);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options.kind, runtime::TargetKind::sim);
  EXPECT_EQ(runtime::executor_options(read->options), runtime::executor_options(options));
  EXPECT_EQ(read->options.device, runtime::DeviceOptions()) << "a replay chooses its own";
  EXPECT_EQ(read->record, record);
}

TEST(TargetOptions, the_header_of_a_null_target_gives_it_back) {
  runtime::TargetOptions options;
  options.kind = runtime::TargetKind::null;
  options.scheduler.prefix_cache = PrefixCacheKind::hash;
  options.executor.drafts = 3;
  const auto read = runtime::from_trace_header(runtime::to_trace_header(options));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options.kind, runtime::TargetKind::null);
  EXPECT_EQ(read->options.scheduler, options.scheduler);
  EXPECT_EQ(executor_options(read->options), executor_options(options));
}

TEST(TargetOptions, damaged_headers_are_refused_by_field) {
  const auto error_after = [](auto&& change) {
    const auto random = parsed({"--model", "forge-tiny:seed=1"}).value();
    trace::TraceHeader header = runtime::to_trace_header(random, some_record());
    change(header.target);
    const auto options = runtime::from_trace_header(header);
    return options ? "accepted" : options.error();
  };
  using nlohmann::json;
  EXPECT_EQ(error_after([](json& t) { t = 3; }), "target is 3; accepted is an object");
  EXPECT_EQ(error_after([](json& t) { t["kind"] = "tpu"; }),
            R"(target.kind is "tpu"; accepted is "cpu", "sim", "cuda", "null")");
  EXPECT_EQ(error_after([](json& t) { t["kind"] = "sim", t.erase("instructions"); }),
            "target.device is missing; accepted is a text");
  EXPECT_EQ(error_after([](json& t) {
              t["kind"] = "cuda", t["device"] = 0;
              t.erase("instructions");
            }),
            "target.device is 0; accepted is a text");
  EXPECT_EQ(error_after([](json& t) { t.erase("numerics"); }),
            "target.numerics is missing; accepted is \"canonical\", \"native\", \"fast\"");
  EXPECT_EQ(error_after([](json& t) { t["numerics"] = "bf16"; }),
            R"(target.numerics is "bf16"; accepted is "canonical", "native", "fast")");
  EXPECT_EQ(error_after([](json& t) { t["kv"] = "fp8"; }),
            R"(target.kv is "fp8"; accepted is "f32", "bf16", "f16")");
  EXPECT_EQ(error_after([](json& t) { t.erase("instructions"); }),
            "target.instructions is missing; accepted is a text");
  EXPECT_EQ(error_after([](json& t) { t["instructions"] = 512; }),
            "target.instructions is 512; accepted is a text");
  EXPECT_EQ(error_after([](json& t) { t["model"].erase("weights"); }),
            "target.model.weights is missing; accepted is a text");
  EXPECT_EQ(error_after([](json& t) { t["model"]["config"] = ""; }),
            R"(target.model.config is ""; accepted is a text that is not empty)");
  EXPECT_EQ(error_after([](json& t) { t["draft"] = "y.gguf"; }),
            R"(target.draft is "y.gguf"; accepted is an object)");
  EXPECT_EQ(error_after([](json& t) {
              t = {{"kind", "null"}};
            }),
            "target.drafts is missing; accepted is an integer, 0 .. 4294967295");
  EXPECT_EQ(error_after([](json& t) { t["kind"] = "null"; }),
            "unknown field 'target.digest_logits'");
  EXPECT_EQ(error_after([](json& t) { t.erase("kind"); }),
            "target.kind is missing; accepted is \"cpu\", \"sim\", \"cuda\", \"null\"");
  EXPECT_EQ(error_after([](json& t) { t.erase("drafts"); }),
            "target.drafts is missing; accepted is an integer, 0 .. 4294967295");
  EXPECT_EQ(error_after([](json& t) { t["drafts"] = -1; }),
            "target.drafts is -1; accepted is an integer, 0 .. 4294967295");
  EXPECT_EQ(error_after([](json& t) { t["drafts"] = 65; }), "drafts is 65, accepted: 0 .. 64");
  EXPECT_EQ(error_after([](json& t) { t["acceptance"] = "shared_noise"; }),
            "unknown field 'target.acceptance'");
  EXPECT_EQ(error_after([](json& t) { t["model"]["layers"] = 1.5; }),
            "target.model.layers is 1.5; accepted is an integer, 0 .. 2147483647");
  EXPECT_EQ(error_after([](json& t) { t["model"]["color"] = 1; }),
            "unknown field 'target.model.color'");
  EXPECT_EQ(error_after([](json& t) { t["model"]["hidden_size"] = 65536; }), "accepted")
      << "large, and within the limit of memory";
  EXPECT_EQ(error_after([](json& t) {
              t["model"]["ffn_size"] = 1 << 20;
              t["model"]["hidden_size"] = 65536;
            }).substr(0, 14),
            "the run takes ");
}

}  // namespace
}  // namespace forge::apps
