// A request's tokens and logits depend on the request alone (the README's second promise): however
// random requests are scheduled together, each comes out as it does alone (schedule_scenario.h).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <utility>

#include "forge/cpu/cpu_executor.h"
#include "schedule_scenario.h"

namespace forge {
namespace {

/// The CPU target; a step fails when it is told to. It has then done everything and says that it
/// has not, which is one of the ways to fail that executor.h allows.
class FailingCpu : public testing::FallibleTarget {
 public:
  explicit FailingCpu(const executor::ExecutorOptions& options,
                      std::unique_ptr<executor::Drafter> drafter = nullptr)
      : cpu_(options, cpu::seeded_cpu_model(testing::kScenarioModel, options), nullptr,
             std::move(drafter)) {}

  void fail_soon() override { fails_ = true; }
  void begin(SeqId seq, const Request& request) override { cpu_.begin(seq, request); }
  std::optional<std::string> refuses(const Request& request) const override {
    return cpu_.refuses(request);
  }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    auto done = cpu_.execute(plan, result);
    if (std::exchange(fails_, false)) return tl::unexpected(ExecutionError{"told to fail"});
    return done;
  }
  tl::expected<void, std::string> reopen() override { return cpu_.reopen(); }
  const SpeculationStatistics& speculation() const override { return cpu_.speculation(); }

 private:
  cpu::CpuExecutor cpu_;
  bool fails_ = false;
};

TEST(ScheduleIndependence, a_request_comes_out_as_it_does_alone) {
  testing::Ways ways;
  const auto cpu = [](const executor::ExecutorOptions& options) {
    return std::make_unique<FailingCpu>(options);
  };
  EXPECT_TRUE(rc::check("a request comes out as it does alone",
                        [&] { ways.add(testing::play_scenario(cpu)); }));
  // Without these the runs would say little.
  EXPECT_GT(ways.chunks, 0U);
  EXPECT_GT(ways.hit_tokens, 0U);
  EXPECT_GT(ways.recovered_tokens, 0U);
  EXPECT_GT(ways.evictions, 0U);
  EXPECT_GT(ways.copies_on_write, 0U);
  EXPECT_GT(ways.blocks_out, 0U);
  EXPECT_GT(ways.blocks_in, 0U);
  EXPECT_GT(ways.narrow_blocks_in, 0U);
  EXPECT_GT(ways.recomputes, 0U);
  EXPECT_GT(ways.accepted_drafts, 0U);
  EXPECT_GT(ways.session_hits, 0U);
  EXPECT_GT(ways.failed_steps, 0U);
  EXPECT_GT(ways.lost_sequences, 0U);
  EXPECT_GT(ways.deadlines, 0U);
  EXPECT_GT(ways.completed, 0U);
  EXPECT_EQ(ways.bound_drafts, 0U);  // the model's first layers propose: only on the device
}

TEST(ScheduleIndependence, a_request_comes_out_as_it_does_alone_with_drafts_of_the_text) {
  testing::Ways ways;
  const auto cpu = [](const executor::ExecutorOptions& options) {
    return std::make_unique<FailingCpu>(options, std::make_unique<executor::NgramDrafter>());
  };
  EXPECT_TRUE(rc::check("a request comes out as it does alone with drafts of the text",
                        [&] { ways.add(testing::play_scenario(cpu)); }));
  EXPECT_GT(ways.accepted_drafts, 0U);
  EXPECT_GT(ways.completed, 0U);
  EXPECT_GT(ways.bound_drafts, 0U);
}

}  // namespace
}  // namespace forge
