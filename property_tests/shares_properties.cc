// Shares of clients that keep many requests waiting, counted from the plans alone
// (share_witness.h): random events as everywhere, but long lines.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "policy_world.h"
#include "random_events.h"

namespace forge {
namespace {

using testing::Against;
using testing::any;
using testing::any_config;
using testing::any_request;
using testing::any_result;
using testing::PolicyWorld;

RC_GTEST_PROP(Shares, of_those_who_wait_are_as_promised_however_long_their_lines, ()) {
  SchedulerConfig config = any_config();
  config.batch.max_batch_size = std::min(config.batch.max_batch_size, any(1, 4));
  PolicyWorld world(config, Against::promises);
  const std::uint32_t clients = any(2, 4);
  std::uint32_t left = any(30, 120);
  for (std::uint32_t steps = 0; left > 0 || world.scheduler().has_work(); ++steps) {
    RC_ASSERT(steps < 8000U);
    if (left > 0 && any(0, 4) == 0) {
      const Request one = any_request(config);
      const std::uint32_t client = any(1, clients);
      const std::uint32_t requests = std::min(left, any(1, 40));
      left -= requests;
      for (std::uint32_t i = 0; i < requests; ++i) {
        Request request = one;
        request.client = ClientId{client};
        request.user = UserId{i % any(1, 2)};
        request.deadline_steps = 0;
        world.submit(request);
      }
    }
    world.commit(any_result(world.schedule()));
  }
  world.check_at_rest();
}

}  // namespace
}  // namespace forge
