// forge-kernel as a student runs it.
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/programs.h"

namespace forge::apps {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::run;

Outcome forge_kernel(const std::string& arguments) { return run(FORGE_KERNEL " " + arguments); }

json report_of(const std::string& arguments) {
  const Outcome outcome = forge_kernel("run " + arguments + " --json");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return json::parse(outcome.output);
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// What --trace says of the first line of the kernel's source that has `code`.
struct TracedLine {
  std::string place;  ///< "embed.cuh:42"
  std::string kind;
  double requests = 0;
  double lanes = 0;
  double sectors = 0;
};
TracedLine traced_line(const std::string& arguments, const std::string& code) {
  const std::vector<std::string> lines =
      lines_in(forge_kernel("run " + arguments + " --trace").output);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i].find(code) == std::string::npos) continue;
    TracedLine line{.place = lines[i].substr(0, lines[i].find(' '))};
    std::istringstream(lines[i + 1]) >> line.kind >> line.requests >> line.lanes >> line.sectors;
    return line;
  }
  ADD_FAILURE() << "no line with " << code;
  return {};
}

const std::vector<std::string> kKernels{"update_tables",
                                        "copy_blocks",
                                        "embed",
                                        "rms_norm",
                                        "project",
                                        "rotate_and_store",
                                        "attend_decode",
                                        "attend_split",
                                        "attend_merge",
                                        "attend_prompt",
                                        "project_heads",
                                        "choose_experts",
                                        "plan_experts",
                                        "project_experts",
                                        "add_experts",
                                        "store_latent",
                                        "attend_latent",
                                        "attend_latent_split",
                                        "attend_latent_merge",
                                        "glu",
                                        "scale_rows",
                                        "project_narrow",
                                        "project_wide",
                                        "finish_product",
                                        "project_experts_narrow",
                                        "project_experts_wide",
                                        "project_experts_codes_narrow",
                                        "project_experts_codes_wide",
                                        "prepare_heads",
                                        "attend_spans",
                                        "merge_spans",
                                        "attend_wide",
                                        "project_heads_wide",
                                        "prepare_latents",
                                        "attend_latent_spans",
                                        "process_logits",
                                        "sample",
                                        "digest_logits"};

TEST(ForgeKernel, list_names_the_kernels_and_their_sizes) {
  const Outcome list = forge_kernel("list");
  EXPECT_EQ(list.status, 0);
  for (const std::string& kernel : kKernels) EXPECT_TRUE(has(list, kernel)) << kernel;
  EXPECT_TRUE(has(list, "attend_decode (paged_decode)")) << list.output;
  EXPECT_TRUE(has(list,
                  "--rows 8 --hidden 512 --outputs 512 --accumulate 0 --bias 0\n            "
                  "--weights 0 --cap 0\n"))
      << list.output;
}

TEST(ForgeKernel, every_kernel_runs_has_the_bits_of_the_cpu_and_fits_a_terminal) {
  for (const std::string& kernel : kKernels) {
    const Outcome outcome = forge_kernel("run " + kernel + " --trace");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_TRUE(has(outcome, "as on the CPU")) << outcome.output;
    for (const std::string& line : lines_in(outcome.output)) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(ForgeKernel, run_says_what_was_launched_and_how_long_it_would_take) {
  const Outcome outcome = forge_kernel("run paged_decode --seqs 4 --context 100");
  EXPECT_EQ(outcome.status, 0);
  for (const char* part :
       {"grid 4 x 2, 8 blocks of 256 threads", "out: all bits of 2048 values as on the CPU",
        " us on h200, most of it", "blocks on a multiprocessor", "barrier:1"}) {
    EXPECT_TRUE(has(outcome, part)) << part << "\n" << outcome.output;
  }
  EXPECT_FALSE(has(outcome, "sectors")) << "that is for --trace";
}

TEST(ForgeKernel, sizes_change_the_launch) {
  const json small = report_of("gemm --rows 1 --hidden 256 --outputs 64");
  EXPECT_EQ(small["grid"], json({1, 2, 1}));
  EXPECT_EQ(small["results"][0]["values"], 64);
  EXPECT_EQ(small["flops"], 2 * 256 * 64);
  const json large = report_of("gemm --rows 9 --hidden 256 --outputs 64");
  EXPECT_EQ(large["grid"], json({2, 2, 1}));
}

TEST(ForgeKernel, an_alias_is_the_same_kernel) {
  EXPECT_EQ(forge_kernel("run paged_decode").output, forge_kernel("run attend_decode").output);
}

TEST(ForgeKernel, the_same_seed_gives_the_same_values_and_another_one_others) {
  const std::string line = traced_line("digest_logits", "? x[at]").place;
  const auto lanes = [&](const std::string& seed) {
    const Outcome step = forge_kernel("step digest_logits --line " + line + " --seed " + seed);
    EXPECT_EQ(step.status, 0) << step.output;
    return step.output;
  };
  EXPECT_EQ(lanes("7"), lanes("7"));
  EXPECT_NE(lanes("7"), lanes("8"));
}

TEST(ForgeKernel, small_blocks_of_kv_cost_sectors) {
  const auto sectors_of_keys = [](const std::string& block_size) {
    const TracedLine line =
        traced_line("paged_decode --context 128 --block-size " + block_size, "k[n] = key[");
    EXPECT_EQ(line.kind, "read");
    EXPECT_EQ(line.lanes, 32);
    return line.sectors;
  };
  EXPECT_EQ(sectors_of_keys("16"), 4);
  EXPECT_EQ(sectors_of_keys("4"), 8);
  EXPECT_EQ(sectors_of_keys("1"), 32);
}

TEST(ForgeKernel, devices_differ_in_time_and_not_in_traffic) {
  const json h200 = report_of("gemm --hidden 1024 --outputs 4096");
  const json l4 = report_of("gemm --hidden 1024 --outputs 4096 --device l4");
  EXPECT_GT(l4["time"]["total_us"], h200["time"]["total_us"]);
  EXPECT_EQ(l4["time"]["device"], "l4");
  EXPECT_EQ(l4["traffic"]["lines"], h200["traffic"]["lines"]);
}

TEST(ForgeKernel, a_barrier_that_is_left_out_is_missed_by_name) {
  const json report = report_of("paged_decode --context 600");
  ASSERT_EQ(report["barriers"].size(), 3u);
  for (int number = 1; number <= 3; ++number) {
    const Outcome broken =
        forge_kernel("run paged_decode --context 600 --break barrier:" + std::to_string(number));
    EXPECT_EQ(broken.status, 1) << broken.output;
    const std::string line = report["barriers"][static_cast<std::size_t>(number - 1)];
    EXPECT_TRUE(has(broken, "without     " + line)) << broken.output;
    EXPECT_TRUE(has(broken, "race in kernel 'attend_decode', block (0, 0, 0)")) << broken.output;
    EXPECT_TRUE(has(broken, "thread 0 at ")) << broken.output;
    for (const std::string& text : lines_in(broken.output)) EXPECT_LE(text.size(), 80u) << text;
  }
}

TEST(ForgeKernel, a_barrier_that_these_sizes_do_not_need_can_go) {
  const Outcome outcome = forge_kernel("run gemm --hidden 256 --break barrier:1");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(has(outcome, "No fault")) << outcome.output;
}

TEST(ForgeKernel, step_shows_who_takes_part) {
  // 100 keys: warp 3 of a block has keys 96 to 99.
  const std::string line = traced_line("paged_decode", "k[n] = key[").place;
  const Outcome step = forge_kernel("step paged_decode --warp 3 --line " + line);
  EXPECT_EQ(step.status, 0) << step.output;
  EXPECT_TRUE(has(step, "of kv_pool, 4 of 32 lanes, 1 sector\n")) << step.output;
  EXPECT_TRUE(has(step, "warp 3 of 8")) << step.output;
  int absent = 0;
  for (const std::string& text : lines_in(step.output)) {
    EXPECT_LE(text.size(), 80u) << text;
    for (std::size_t at = text.find(" - "); at != text.npos; at = text.find(" - ", at + 1)) {
      ++absent;
    }
  }
  EXPECT_GE(absent, 28) << step.output;

  const Outcome later = forge_kernel("step paged_decode --occurrence 5 --line 'k[n] = key['");
  EXPECT_TRUE(has(later, "occurrence  5 of 64")) << later.output;
  EXPECT_TRUE(has(later, line)) << "the same line, by its text";
}

TEST(ForgeKernel, step_shows_where_threads_meet) {
  const json report = report_of("paged_decode");
  const std::string barrier = report["barriers"][0];
  const Outcome step = forge_kernel("step paged_decode --line " + barrier);
  EXPECT_EQ(step.status, 0);
  EXPECT_TRUE(has(step, "meeting     all 256 threads of the block")) << step.output;
}

TEST(ForgeKernel, unusable_arguments_exit_with_2_and_say_why) {
  const auto expect_unusable = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = forge_kernel(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.output;
    EXPECT_TRUE(has(outcome, part)) << outcome.output;
  };
  expect_unusable("", "A subcommand is required");
  expect_unusable("run paged_dekode", "there is no kernel 'paged_dekode', but update_tables");
  expect_unusable("run embed --heads 4",
                  "--heads: embed has no use for it, but for --rows --hidden");
  expect_unusable("run embed --rows 0", "--rows: Value 0 not in range 1 to 4096");
  expect_unusable("run paged_decode --heads 6 --kv-heads 4",
                  "--heads 6 is no multiple of --kv-heads 4");
  expect_unusable("run gemm --weights 3",
                  "--weights 3, I8, has its scales elsewhere; accepted are 0 .. 2 and");
  expect_unusable("run embed --weights 8 --hidden 100", "--hidden 100 is no multiple of 256");
  expect_unusable("run scale_rows --hidden 12", "--hidden 12 is no multiple of 8");
  expect_unusable("run attend_spans --head-size 72", "--head-size 72 is no multiple of 16");
  expect_unusable("run rope --head-size 33", "--head-size 33 is not even");
  expect_unusable("run rope --rotary-size 66", "--rotary-size 66 is more than --head-size 64");
  expect_unusable("run paged_prefill --rows 9 --context 8", "--rows 9 is more than --context 8");
  expect_unusable("run project_codes_few --rows 3 --hidden 10944",
                  "--hidden 10944 is more than 10922, which a block has room for");
  expect_unusable("run embed --vocabulary 1000000 --hidden 4096", "accepted are up to 1024");
  expect_unusable("run embed --device b200", "device 'b200' is neither a known one");
  expect_unusable("run paged_decode --break barrier:4", "accepts barrier:1 to barrier:3");
  expect_unusable("run paged_decode --break fence:1", "accepts barrier:1 to barrier:3");
  expect_unusable("run embed --break barrier:1", "embed has no barrier of a block");
  expect_unusable("step embed", "--line is required");
  expect_unusable("step embed --line 1", "neither uses memory nor meets there, but at");
  expect_unusable("step embed --line nonsense", "this warp neither uses memory nor meets there");
  expect_unusable("step paged_decode --line sync_block",
                  "means several lines:\n  attend_tile.cuh:");
  expect_unusable("step paged_decode --line 1 --block 8", "--block 8: accepted are 0 to 7");
  expect_unusable("step paged_decode --line 1 --warp 8", "--warp 8: accepted are 0 to 7");
}

}  // namespace
}  // namespace forge::apps
