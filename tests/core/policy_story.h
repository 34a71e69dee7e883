// A scheduler and its events in short form, for tests that compare whole schedules.
#pragma once

#include <gtest/gtest.h>

#include "core/schedule_table.h"
#include "forge/core/invariants.h"
#include "forge/core/scheduler.h"

namespace forge::testing {

/// Small blocks, no prefix cache unless a test is about it.
inline SchedulerConfig small(std::uint32_t num_blocks, std::uint32_t block_size = 1) {
  return {.cache = {.num_blocks = num_blocks, .block_size = block_size},
          .prefix_cache = PrefixCacheKind::none};
}

/// A prompt of `count` tokens, `first`, `first` + 1, ...
inline Request prompt(std::uint32_t first, std::uint32_t count, std::uint32_t max_new) {
  Request request{.max_new_tokens = max_new};
  for (std::uint32_t i = 0; i < count; ++i) request.prompt.emplace_back(first + i);
  return request;
}

inline Request with(Request request, Priority priority) {
  request.priority = priority;
  return request;
}
inline Request with(Request request, ClientId client) {
  request.client = client;
  return request;
}
inline Request with(Request request, SessionId session) {
  request.session = session;
  return request;
}

/// A scheduler, its events in short form, invariants after each.
class World {
 public:
  explicit World(const SchedulerConfig& config) : scheduler(config) {}

  SeqId submit(const Request& request) { return scheduler.submit(request).value(); }

  std::string schedule() {
    const std::string text = plan_row(scheduler.schedule());
    EXPECT_EQ(check_invariants(scheduler), std::nullopt);
    return text;
  }
  void commit(std::uint32_t drafts = 0) {
    scheduler.commit(scheduler.plan(), one_token_each(scheduler.plan(), drafts));
    EXPECT_EQ(check_invariants(scheduler), std::nullopt);
  }
  std::string step(std::uint32_t drafts = 0) {
    const std::string text = schedule();
    commit(drafts);
    return text;
  }
  /// Steps until there is no work; returns how many that took.
  int finish() {
    int steps = 0;
    for (; scheduler.has_work(); ++steps) {
      EXPECT_LT(steps, 10000);
      step();
    }
    return steps;
  }

  Scheduler scheduler;
};

}  // namespace forge::testing
