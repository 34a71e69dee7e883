// Replicas behind a router, and the rules by which it sends.
#include "cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "forge/kv_events/cache_feed.h"
#include "generated_workload.h"
#include "null_executor.h"
#include "policy_run.h"

namespace forge::apps {
namespace {

const std::vector<RoutingRule> kRules = {RoutingRule::turn, RoutingRule::load, RoutingRule::prefix,
                                         RoutingRule::both};

Request request_of(std::uint32_t first, std::uint32_t tokens, std::uint32_t new_tokens = 4) {
  Request request;
  for (std::uint32_t i = 0; i < tokens; ++i) request.prompt.emplace_back(first + i);
  request.max_new_tokens = new_tokens;
  return request;
}

SchedulerConfig small_config() {
  return {.cache = {.num_blocks = 64, .block_size = 4},
          .batch = {.max_batch_size = 4, .max_batch_tokens = 64}};
}

/// Tells `router` that `replica` has the KV of a prompt now, or no longer.
class Told {
 public:
  explicit Told(Router& router) : router_(router) {}

  void stored(std::size_t replica, const Request& request) {
    kv_events::CacheFeed feed(small_config());
    Scheduler scheduler(small_config());
    EXPECT_TRUE(scheduler.submit(request).has_value());
    NullExecutor executor(0);
    StepResult answer;
    while (scheduler.has_work()) {
      const StepPlan& plan = scheduler.schedule();
      EXPECT_TRUE(executor.execute(plan, answer).has_value());
      scheduler.commit(plan, answer);
      router_.follow(replica, feed.follow(scheduler.cache_delta(), *scheduler.cache().index(), 0));
    }
  }
  void cleared(std::size_t replica) {
    router_.follow(replica, {.timestamp = 0, .events = {kv_events::AllBlocksCleared()}});
  }

 private:
  Router& router_;
};

TEST(Router, by_turn_each_replica_has_the_next_one) {
  Router router(RoutingRule::turn, small_config(), 3);
  for (const std::size_t expected : {0U, 1U, 2U, 0U}) {
    EXPECT_EQ(router.send(request_of(1, 100)).replica, expected);
  }
}

TEST(Router, by_load_the_replica_with_the_fewest_tokens_to_run_is_next) {
  Router router(RoutingRule::load, small_config(), 2);
  const Route first = router.send(request_of(1, 100, 10));
  EXPECT_EQ(first.replica, 0u);
  EXPECT_EQ(first.tokens, 110u);
  EXPECT_EQ(router.send(request_of(1, 60, 10)).replica, 1u);
  EXPECT_EQ(router.send(request_of(1, 35, 10)).replica, 1u);  // 70 there, 110 here
  router.end(first);
  EXPECT_EQ(router.send(request_of(1, 60, 10)).replica, 0u);
}

TEST(Router, by_prefix_the_replica_that_has_most_of_the_prompt_is_next) {
  Router router(RoutingRule::prefix, small_config(), 3);
  Told told(router);
  told.stored(1, request_of(1, 20));
  told.stored(2, request_of(1, 9));
  EXPECT_EQ(router.cached_tokens(0, request_of(1, 16)), 0u);
  EXPECT_EQ(router.cached_tokens(1, request_of(1, 16)), 15u);  // the last token has to run
  EXPECT_EQ(router.cached_tokens(2, request_of(1, 16)), 8u);
  EXPECT_EQ(router.cached_tokens(1, request_of(2, 16)), 0u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(router.send(request_of(1, 16)).replica, 1u);
  EXPECT_EQ(router.send(request_of(7, 16)).replica, 0u);  // nobody has it: the least loaded
  told.cleared(1);
  EXPECT_EQ(router.send(request_of(1, 16)).replica, 2u);
}

TEST(Router, by_both_a_prefix_counts_as_much_as_the_tokens_that_it_saves) {
  Router router(RoutingRule::both, small_config(), 2);
  Told told(router);
  told.stored(1, request_of(1, 40));
  EXPECT_EQ(router.send(request_of(1, 41, 10)).replica, 1u);  // 11 to run there, 51 here
  EXPECT_EQ(router.send(request_of(1, 41, 10)).replica, 1u);  // 22 and 51
  EXPECT_EQ(router.send(request_of(1, 41, 10)).replica, 1u);
  EXPECT_EQ(router.send(request_of(1, 41, 10)).replica, 1u);
  EXPECT_EQ(router.send(request_of(1, 41, 10)).replica, 0u);  // 55 and 51
}

Workload some_chat(std::size_t requests = 300, double rate = 6) {
  return generate_workload(
      {.kind = WorkloadKind::chat, .requests = requests, .rate = rate, .seed = 7});
}

SchedulerConfig replica_config() {
  return {.cache = {.num_blocks = 3000, .block_size = 16},
          .batch = {.max_batch_size = 32, .max_batch_tokens = 512},
          .prefill_chunk_size = 256};
}

ClusterResult run(const Workload& workload, RoutingRule rule, std::size_t replicas,
                  const SchedulerConfig& config = replica_config()) {
  return run_cluster({.workload = workload,
                      .config = config,
                      .clock = {},
                      .rule = rule,
                      .replicas = replicas,
                      .progress = {}});
}

TEST(Cluster, of_one_replica_is_the_run_of_the_policy_alone) {
  const Workload workload = some_chat();
  runtime::TargetOptions options;
  options.kind = runtime::TargetKind::null;
  options.scheduler = replica_config();
  const PolicyResult alone = run_policy(
      {.workload = workload, .options = options, .clock = {}, .trace = nullptr, .progress = {}});
  for (const RoutingRule rule : kRules) {
    const ClusterResult result = run(workload, rule, 1);
    EXPECT_EQ(result.digest, alone.digest) << name_of(rule);
    EXPECT_EQ(result.prefix_cache, alone.prefix_cache);
    EXPECT_EQ(result.virtual_seconds, alone.virtual_seconds);
    EXPECT_EQ(result.generated_tokens, alone.generated_tokens);
    EXPECT_EQ(result.imbalance(), 1);
  }
}

TEST(Cluster, every_request_ends_and_has_all_its_tokens) {
  const Workload workload = some_chat(100);
  const auto wanted = std::accumulate(
      workload.begin(), workload.end(), std::uint64_t{0},
      [](std::uint64_t sum, const WorkloadItem& item) { return sum + item.new_tokens; });
  for (const RoutingRule rule : kRules) {
    for (const std::size_t replicas : {2U, 3U, 8U}) {
      const ClusterResult result = run(workload, rule, replicas);
      EXPECT_EQ(result.finished, workload.size());
      EXPECT_EQ(result.refused, 0u);
      EXPECT_EQ(result.generated_tokens, wanted);
      EXPECT_EQ(result.tokens_run.size(), replicas);
      EXPECT_EQ(result.digest, run(workload, rule, replicas).digest);
    }
  }
}

TEST(Cluster, what_can_never_fit_is_refused_and_weighs_nothing) {
  Workload workload = some_chat(40);
  SchedulerConfig config = replica_config();
  config.cache.num_blocks = 80;
  const auto fits = [&](const WorkloadItem& item) {
    return item.prompt_tokens + item.new_tokens - 1 <= 80 * 16;
  };
  const auto expected = static_cast<std::uint64_t>(std::ranges::count_if(workload, fits));
  ASSERT_GT(expected, 0u);
  ASSERT_LT(expected, workload.size());
  const ClusterResult result = run(workload, RoutingRule::load, 2, config);
  EXPECT_EQ(result.finished, expected);
  EXPECT_EQ(result.refused, workload.size() - expected);
}

TEST(Cluster, conversations_find_more_in_the_caches_where_the_router_knows_of_them) {
  const Workload workload = some_chat(1000, 12);
  const ClusterResult turn = run(workload, RoutingRule::turn, 4);
  const ClusterResult load = run(workload, RoutingRule::load, 4);
  const ClusterResult prefix = run(workload, RoutingRule::prefix, 4);
  const ClusterResult both = run(workload, RoutingRule::both, 4);
  EXPECT_GT(prefix.prefix_hit_rate(), turn.prefix_hit_rate() + 0.1);
  EXPECT_GT(both.prefix_hit_rate(), turn.prefix_hit_rate() + 0.1);
  EXPECT_LT(load.imbalance(), prefix.imbalance());
  EXPECT_LT(both.ttft_us.p50, turn.ttft_us.p50);
}

TEST(Cluster, without_a_prefix_cache_all_rules_but_by_turn_look_at_the_load) {
  SchedulerConfig config = replica_config();
  config.prefix_cache = PrefixCacheKind::none;
  const Workload workload = some_chat(100);
  const std::uint64_t load = run(workload, RoutingRule::load, 3, config).digest;
  EXPECT_EQ(run(workload, RoutingRule::prefix, 3, config).digest, load);
  EXPECT_EQ(run(workload, RoutingRule::both, 3, config).digest, load);
  EXPECT_NE(run(workload, RoutingRule::turn, 3, config).digest, load);
}

TEST(Cluster, a_run_can_be_stopped) {
  const Workload workload = some_chat(100);
  const ClusterResult result =
      run_cluster({.workload = workload,
                   .config = replica_config(),
                   .clock = {},
                   .rule = RoutingRule::load,
                   .replicas = 2,
                   .progress = [](std::size_t ended) { return ended < 10; }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_GE(result.finished, 10u);
  EXPECT_LT(result.finished, 100u);
}

}  // namespace
}  // namespace forge::apps
