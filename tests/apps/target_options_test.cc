#include "target_options.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

/// The options after a command line, or the error's text.
tl::expected<TargetOptions, std::string> parsed(std::vector<std::string> arguments) {
  CLI::App app;
  TargetOptions options;
  add_target_options(app, options);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(std::string(error.what()));
  }
  return options;
}

TEST(TargetOptions, defaults_are_those_of_the_types) {
  const auto options = parsed({}).value();
  EXPECT_EQ(options.scheduler, SchedulerConfig());
  EXPECT_EQ(options.executor, CpuExecutorOptions());
}

TEST(TargetOptions, flags_reach_scheduler_and_executor) {
  const auto options = parsed({"--num-blocks",     "64", "--block-size",     "8",
                               "--max-batch-size", "3",  "--model-seed",     "18446744073709551615",
                               "--model-layers",   "6",  "--model-dim",      "32",
                               "--model-heads",    "2",  "--model-kv-heads", "1",
                               "--speculative",    "5",  "--acceptance",     "rejection"})
                           .value();
  EXPECT_EQ(options.scheduler, (SchedulerConfig{64, 8, 3}));
  EXPECT_EQ(options.executor.num_blocks, 64u);
  EXPECT_EQ(options.executor.block_size, 8u);
  EXPECT_EQ(options.executor.model.seed, 18446744073709551615u);
  EXPECT_EQ(options.executor.model.layers, 6);
  EXPECT_EQ(options.executor.model.head_size, 16);
  EXPECT_EQ(options.executor.drafts, 5u);
  EXPECT_EQ(options.executor.draft_layers, 3) << "half of the layers unless given";
  EXPECT_EQ(options.executor.rule, AcceptanceRule::rejection);
}

TEST(TargetOptions, bad_flags_name_flag_value_and_range) {
  const auto contains = [](const tl::expected<TargetOptions, std::string>& result,
                           const std::string& part) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().find(part), std::string::npos) << result.error();
  };
  contains(parsed({"--num-blocks", "0"}), "--num-blocks: Value 0 not in range 1 to 4194304");
  contains(parsed({"--speculative", "65"}), "--speculative: Value 65 not in range 0 to 64");
  contains(parsed({"--acceptance", "always"}), "always");
  contains(parsed({"--model-heads", "3"}),
           "--model-dim: 64 is not a multiple of 2 * "
           "--model-heads, 6");
  contains(parsed({"--model-heads", "4", "--model-kv-heads", "3"}),
           "model heads is 4, accepted: a multiple of kv_heads, 3");
  contains(parsed({"--draft-layers", "5"}), "draft_layers is 5, accepted: 1 .. 4");
  contains(parsed({"--num-blocks", "4194304", "--block-size", "16384"}),
           "accepted: up to 4096 MiB");
}

TEST(TargetOptions, a_trace_header_gives_the_options_back) {
  const auto options = parsed({"--num-blocks", "9", "--model-seed", "18446744073709551615",
                               "--speculative", "2", "--acceptance", "rejection"})
                           .value();
  const auto read = from_trace_header(to_trace_header(options));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->scheduler, options.scheduler);
  EXPECT_EQ(read->executor, options.executor);
}

TEST(TargetOptions, damaged_headers_are_refused_by_field) {
  const auto error_after = [](auto&& change) {
    TraceHeader header = to_trace_header(TargetOptions());
    change(header.target);
    const auto options = from_trace_header(header);
    return options ? "accepted" : options.error();
  };
  using nlohmann::json;
  EXPECT_EQ(error_after([](json& t) { t = 3; }), "target is not an object");
  EXPECT_EQ(error_after([](json& t) { t["kind"] = "tpu"; }), "target.kind is not \"cpu\"");
  EXPECT_EQ(error_after([](json& t) { t.erase("drafts"); }), "target.drafts is missing");
  EXPECT_EQ(error_after([](json& t) { t["drafts"] = -1; }),
            "target.drafts is not an integer in 0..4294967295");
  EXPECT_EQ(error_after([](json& t) { t["drafts"] = 65; }),
            "model drafts is 65, accepted: 0 .. 64");
  EXPECT_EQ(error_after([](json& t) { t["acceptance"] = "never"; }),
            "target.acceptance is neither shared_noise nor rejection");
  EXPECT_EQ(error_after([](json& t) { t["model"]["layers"] = 1.5; }),
            "target.model.layers is not an integer in 0..2147483647");
  EXPECT_EQ(error_after([](json& t) { t["model"]["color"] = 1; }),
            "target.model has unknown fields");
  EXPECT_EQ(error_after([](json& t) { t["model"]["hidden_size"] = 65536; }), "accepted")
      << "large, and within the limit of memory";
  EXPECT_EQ(error_after([](json& t) {
              t["model"]["ffn_size"] = 1 << 20;
              t["model"]["hidden_size"] = 65536;
            }).substr(0, 25),
            "weights and KV cache take");
}

}  // namespace
}  // namespace forge
