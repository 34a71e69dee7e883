// What the words about work beside a thread are good for: each wait, each commit and the zeros of
// each copy are left out in turn, and the checker reports what becomes of it. One that could go
// unnoticed would not be needed.
#include <gtest/gtest.h>

#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "forge/simt/traffic.h"
#include "gpu/fast_launches.h"
#include "gpu/kernel_lines.h"
#include "gpu/test_cases.h"
#include "gpu/test_seed.h"

namespace forge::gpu {
namespace {

using Fast = FastLaunches;
using Launch = OverlappingLaunch (Fast::*)();
using enum simt::FaultKind;

class PlantedWords : public ::testing::Test {
 protected:
  using Result = tl::expected<void, simt::KernelFault>;

  Result run(const KernelLaunch& launch, const simt::LaunchOptions& options) {
    return machine_.run(sim::kernel_code(launch.kernel), launch.shape, launch.args.data(), options);
  }

  /// Launches it twice after one that writes its input, all of which overlap, without the word of a
  /// line if there is one, threads in ascending order or in that of a seed.
  Result run_in_chain(const OverlappingLaunch& planted, std::optional<simt::Site> left_out = {},
                      std::optional<std::uint64_t> seed = {}) {
    TestCases::count();
    simt::LaunchChain chain;
    chain.begin("the launch before", false);
    chain.note(planted.input.begin, planted.input.bytes, simt::AccessKind::write, 0,
               simt::Site::here());
    chain.end(true);
    for (int i = 0; i < 2; ++i) {
      chain.begin(std::string(name(planted.launch.kernel)), true);
      simt::Checker checker(memory_.map(), &chain);
      const Result done =
          run(planted.launch, {.seed = seed, .observer = &checker, .left_out = left_out});
      if (!done) return done;
      checker.end_launch();
    }
    return {};
  }

  simt::Traffic traffic(const KernelLaunch& launch) {
    simt::TrafficCounter counter({.l1_bytes = 1 << 18, .l2_bytes = 1 << 24});
    EXPECT_TRUE(run(launch, {.observer = &counter}));
    return counter.result();
  }

  /// As the build names the kernels' files.
  std::string file_named(const std::string& name) {
    const simt::Site seen = traffic(launches_.scale_rows().launch).lines[0].site;
    return std::filesystem::path(seen.file).replace_filename(name).string();
  }

  SimulatedMemory memory_;
  FastLaunches launches_{memory_};
  simt::Machine machine_;
};

/// What reports that a word is missing.
struct Catch {
  const char* file;
  const char* line;  ///< has this in it
  Launch launch;
  simt::FaultKind fault;
  const char* at;  ///< is in the line of the access that the checker stops at
  /// Of another kernel, or of other blocks, that have the line. They are stopped alike.
  Launch also = nullptr;
  Launch also_last = nullptr;
  Launch also_heads = nullptr;
};

/// In the order of the sources. A wait or a commit is missed where a row is read that may not have
/// arrived, or where a thread returns and leaves a copy on its way; zeros, where their place is
/// read; a wait for the launch before, where its results are.
constexpr Catch kCatches[] = {
    {"add_experts.cuh", "wait_for_previous", &Fast::add_experts, race, "global(a.produced)"},
    {"attend_latent_spans.cuh", "wait_for_previous", &Fast::attend_latent_spans, race,
     "copy_async(b.q"},
    {"attend_spans.cuh", "wait_for_previous", &Fast::attend_spans, race, "copy_async(b.q"},
    {"attend_wide.cuh", "wait_for_previous", &Fast::attend_wide, race, "copy_async(b.q"},
    {"choose_experts.cuh", "wait_for_previous", &Fast::choose_experts, race, "= z[e]"},
    {"code_chains.cuh", "commit_copies", &Fast::project_codes_wide, pending_copy, "copy_async("},
    {"code_chains.cuh", "commit_copies", &Fast::project_codes_narrow, pending_copy, "load_matrix4(",
     &Fast::project_codes_wide},
    {"code_results.cuh", "wait_for_previous", &Fast::project_codes_narrow, race,
     "copy_async(to + k", &Fast::project_codes_wide},
    {"code_results.cuh", "wait_copies<0>", &Fast::project_codes_narrow, pending_copy, "copy_async(",
     &Fast::project_codes_wide},
    {"code_ring.cuh", "copy_async(to.panel", &Fast::project_codes_wide, uninitialised, "at["},
    {"code_ring.cuh", "copy_async(to.group", &Fast::project_codes_wide, uninitialised,
     "load16(group"},
    {"code_ring.cuh", "commit_copies", &Fast::project_codes_narrow, pending_copy, "load_matrix4(",
     &Fast::project_codes_wide},
    {"code_ring.cuh", "wait_copies<kMost>", &Fast::project_codes_narrow, pending_copy,
     "load_matrix4(", &Fast::project_codes_wide},
    {"code_rows.cuh", "wait_for_previous", &Fast::code_rows, race, "global(a.x)"},
    {"finish_product.cuh", "wait_for_previous", &Fast::finish_product, race, "load4(from"},
    {"merge_spans.cuh", "wait_for_previous", &Fast::merge_spans, race, "partial[size]"},
    {"plan_experts.cuh", "wait_for_previous", &Fast::plan_experts, race, "= choices[pair]"},
    {"prepare_heads.cuh", "wait_for_previous", &Fast::prepare_heads, race, "x[d]"},
    {"prepare_latents.cuh", "wait_for_previous", &Fast::prepare_latents, race, "from["},
    {"project_codes_few.cuh", "wait_for_previous", &Fast::project_codes_few, race, "load16(from"},
    {"project_codes_few.cuh", "wait_for_previous", &Fast::project_codes_few, race, "load16(from"},
    {"project_codes_narrow.cuh", "wait_for_previous", &Fast::project_codes_narrow, race,
     "copy_async(to"},
    {"project_experts_codes_narrow.cuh", "wait_for_previous", &Fast::project_experts_codes_narrow,
     race, "a.plan.tiles_count"},
    {"project_experts_codes_wide.cuh", "wait_for_previous", &Fast::project_experts_codes_wide, race,
     "copy_async(to"},
    {"project_experts_narrow.cuh", "wait_for_previous", &Fast::project_experts_narrow, race,
     "a.plan.tiles_count"},
    {"project_experts_wide.cuh", "wait_for_previous", &Fast::project_experts_wide, race,
     "copy_async(to"},
    {"project_narrow.cuh", "copy_async", &Fast::project_narrow_short, uninitialised,
     "load_matrix4(weights"},
    {"project_narrow.cuh", "copy_async", &Fast::project_narrow_short, uninitialised,
     "load_matrix4(x"},
    {"project_narrow.cuh", "wait_copies<Tile::kStages - 1>", &Fast::project_narrow, pending_copy,
     "load_matrix4(weights"},
    {"project_narrow.cuh", "wait_copies<Tile::kStages - 2>", &Fast::project_narrow, pending_copy,
     "load_matrix4(x"},
    {"project_narrow.cuh", "commit_copies", &Fast::project_narrow, pending_copy, "load_matrix4(x"},
    {"project_narrow.cuh", "commit_copies", &Fast::project_narrow, pending_copy, "copy_async(to"},
    {"project_narrow.cuh", "commit_copies", &Fast::project_narrow, pending_copy,
     "load_matrix4(weights"},
    {"project_narrow.cuh", "wait_copies<0>", &Fast::project_narrow, pending_copy, "copy_async(to"},
    {"project_narrow.cuh", "wait_for_previous", &Fast::project_narrow, race, "copy_async(stage"},
    {"project_narrow.cuh", "wait_copies<0>", &Fast::project_narrow, pending_copy, "copy_async(to"},
    {"project_narrow.cuh", "wait_for_previous", &Fast::project_narrow, race, "copy_async(stage"},
    {"project_wide.cuh", "commit_copies", &Fast::project_wide, pending_copy, "load_matrix4(weights",
     &Fast::project_wide_small, &Fast::project_wide_slim, &Fast::project_heads_wide},
    {"project_wide.cuh", "wait_copies<0>", &Fast::project_wide, pending_copy, "store16(to",
     &Fast::project_wide_small, &Fast::project_wide_slim, &Fast::project_heads_wide},
    {"project_wide.cuh", "wait_for_previous", &Fast::project_wide, race, "copy_async(to",
     &Fast::project_wide_small, &Fast::project_wide_slim, &Fast::project_heads_wide},
    {"project_wide.cuh", "wait_copies<0>", &Fast::project_wide, pending_copy, "copy_async(to",
     &Fast::project_wide_small, &Fast::project_wide_slim, &Fast::project_heads_wide},
    {"scale_rows.cuh", "wait_for_previous", &Fast::scale_rows, race, "load4(from)"},
    {"span_block.cuh", "copy_async(b.q", &Fast::attend_spans, uninitialised, "load_matrix4(b.q",
     &Fast::attend_wide, &Fast::attend_latent_spans},
    {"span_block.cuh", "copy_async(b.ring + b.keys_of", &Fast::attend_spans, uninitialised,
     "load_matrix4(b.ring", &Fast::attend_wide, &Fast::attend_latent_spans},
    {"span_block.cuh", "copy_async(b.ring + b.values_of", &Fast::attend_spans, uninitialised,
     "load_matrix4_transposed(b.ring", &Fast::attend_wide},
    {"span_block.cuh", "commit_copies", &Fast::attend_spans, pending_copy, "load_matrix4(b.q",
     &Fast::attend_wide, &Fast::attend_latent_spans},
    {"span_block.cuh", "wait_copies<1>", &Fast::attend_spans, pending_copy, "load_matrix4(b.q"},
    {"span_block.cuh", "wait_copies<0>", &Fast::attend_wide, pending_copy, "load_matrix4(b.q",
     &Fast::attend_latent_spans},
    {"wide_tile.cuh", "copy_async(to + output", &Fast::project_wide, uninitialised,
     "load_matrix4(weights", &Fast::project_wide_small, &Fast::project_wide_slim,
     &Fast::project_heads_wide},
    {"wide_tile.cuh", "commit_copies", &Fast::project_wide, pending_copy, "copy_async(to",
     &Fast::project_wide_small, &Fast::project_wide_slim, &Fast::project_heads_wide},
    {"wide_tile.cuh", "copy_async(to + row", &Fast::project_wide, uninitialised, "load_matrix4(x",
     &Fast::project_heads_wide},
    {"wide_tile.cuh", "wait_copies<kPending>", &Fast::project_wide, pending_copy,
     "load_matrix4(weights", &Fast::project_wide_small, &Fast::project_wide_slim,
     &Fast::project_heads_wide},
    {"wide_tile.cuh", "commit_copies", &Fast::project_wide, pending_copy, "load_matrix4(x",
     &Fast::project_wide_small, &Fast::project_wide_slim, &Fast::project_heads_wide},
};

TEST_F(PlantedWords, EachOneOfEachKernelIsMissed) {
  std::vector<KernelLine> words = kernel_lines_with(
      {"wait_copies<", "commit_copies();", "copy_async(", "wait_for_previous();"});
  std::erase_if(words, [](const KernelLine& word) {
    return word.text.ends_with(", true);");  // a copy of what is always there has no zeros
  });
  ASSERT_EQ(words.size(), std::size(kCatches));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const KernelLine& word = words[i];
    const Catch& by = kCatches[i];
    SCOPED_TRACE(word.name() + word.text);
    ASSERT_EQ(word.file, by.file);
    ASSERT_NE(word.text.find(by.line), std::string::npos) << "expected: " << by.line;
    const std::string file = file_named(word.file);
    for (const Launch launch : {by.launch, by.also, by.also_last, by.also_heads}) {
      if (launch == nullptr) continue;
      for (const auto seed : orders()) {
        const auto done =
            run_in_chain((launches_.*launch)(), simt::Site{file.c_str(), word.number}, seed);
        ASSERT_FALSE(done) << "nothing was reported";
        EXPECT_EQ(done.error().kind, by.fault) << to_string(done.error());
        if (seed) continue;  // another thread may be the first, at another line
        const KernelLine at = kernel_line(done.error().sites.back());
        EXPECT_NE(at.text.find(by.at), std::string::npos) << to_string(done.error());
      }
    }
  }
}

TEST_F(PlantedWords, NoneIsMissedWhereAllAreThere) {
  for (const auto launch : {&Fast::scale_rows,
                            &Fast::code_rows,
                            &Fast::prepare_heads,
                            &Fast::project_narrow,
                            &Fast::project_narrow_short,
                            &Fast::project_wide,
                            &Fast::project_wide_small,
                            &Fast::project_wide_slim,
                            &Fast::finish_product,
                            &Fast::project_codes_few,
                            &Fast::project_codes_narrow,
                            &Fast::project_codes_wide,
                            &Fast::choose_experts,
                            &Fast::plan_experts,
                            &Fast::project_experts_narrow,
                            &Fast::project_experts_wide,
                            &Fast::project_experts_codes_narrow,
                            &Fast::project_experts_codes_wide,
                            &Fast::add_experts,
                            &Fast::attend_spans,
                            &Fast::merge_spans,
                            &Fast::attend_wide,
                            &Fast::prepare_latents,
                            &Fast::project_heads_wide,
                            &Fast::attend_latent_spans}) {
    for (const auto seed : orders()) {
      const auto done = run_in_chain((launches_.*launch)(), {}, seed);
      EXPECT_TRUE(done) << to_string(done.error());
    }
  }
}

/// What is moved 16 bytes at once, copies and rows of matrices, finds its eight rows in different
/// banks, and so do the words of codes. Without the term that spreads them, on both sides, no bit
/// would tell.
TEST_F(PlantedWords, RowsAreSpreadOverTheBanks) {
  for (const auto launch :
       {&Fast::project_narrow_full, &Fast::project_wide_full, &Fast::project_wide_small_full,
        &Fast::project_wide_slim_full, &Fast::project_codes_narrow_full,
        &Fast::project_codes_wide_full, &Fast::project_experts_narrow_full,
        &Fast::project_experts_wide_full, &Fast::project_experts_codes_narrow_full,
        &Fast::project_experts_codes_wide_full, &Fast::attend_spans_full, &Fast::attend_wide_full,
        &Fast::project_heads_wide_full, &Fast::attend_latent_spans_full}) {
    const KernelLaunch full = (launches_.*launch)().launch;
    std::uint64_t needed = 0;
    std::uint64_t least = 0;
    for (const simt::LineTraffic& line : traffic(full).lines) {
      const bool has_codes = kernel_line(line.site).file.starts_with("code_");
      const bool whole_rows = line.bytes == 16 * line.lanes || has_codes;
      if (line.space != simt::Space::shared || !whole_rows) continue;
      needed += line.wavefronts;
      least += line.wavefronts_least;
    }
    std::cout << name(full.kernel) << " " << needed << " of " << least << "\n";
    EXPECT_GT(least, 0u) << name(full.kernel);
    EXPECT_LE(static_cast<double>(needed), 1.05 * static_cast<double>(least)) << name(full.kernel);
  }
}

}  // namespace
}  // namespace forge::gpu
