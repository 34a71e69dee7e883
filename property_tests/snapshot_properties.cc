// A scheduler that goes on from its snapshot, beside one that simply goes on.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "forge/core/invariants.h"
#include "forge/core/scheduler.h"
#include "random_events.h"

namespace forge {
namespace {

using testing::any;
using testing::any_config;
using testing::any_request;
using testing::any_result;

/// Every event goes to both. The one that moves is made anew from its snapshot now and then.
class Pair {
 public:
  explicit Pair(const SchedulerConfig& config) : stays_(config), moves_(config) {}

  const Scheduler& scheduler() const { return stays_; }

  void submit(const Request& request) {
    const auto seq = stays_.submit(request);
    const auto also = moves_.submit(request);
    RC_ASSERT(seq.has_value() == also.has_value());
    if (seq) RC_ASSERT(*seq == *also);
  }
  void cancel(SeqId seq) {
    RC_ASSERT(stays_.cancel(seq).has_value() == moves_.cancel(seq).has_value());
  }
  void release_session(SessionId session) {
    RC_ASSERT(stays_.release_session(session).has_value() ==
              moves_.release_session(session).has_value());
  }
  void clear_prefix_cache() {
    stays_.clear_prefix_cache();
    moves_.clear_prefix_cache();
  }

  void schedule() {
    RC_ASSERT(stays_.schedule() == moves_.schedule());
    RC_ASSERT(digest(stays_.plan()) == digest(moves_.plan()));
  }
  void commit(const StepResult& result) {
    stays_.commit(stays_.plan(), result);
    moves_.commit(moves_.plan(), result);
    RC_ASSERT(stays_.cache_delta() == moves_.cache_delta());
  }

  void move() {
    const SchedulerSnapshot snapshot = moves_.snapshot();
    RC_ASSERT(snapshot == stays_.snapshot());
    auto moved = Scheduler::restore(moves_.config(), snapshot);
    if (!moved) RC_FAIL(moved.error());
    moves_ = *std::move(moved);
    RC_ASSERT(snapshot == moves_.snapshot());
    RC_ASSERT(stays_.state_digest() == moves_.state_digest());
  }

 private:
  Scheduler stays_;
  Scheduler moves_;
};

void happen(Pair& pair) {
  switch (*rc::gen::weightedElement<int>({{20, 0}, {4, 1}, {2, 2}, {1, 3}})) {
    case 0:
      pair.submit(any_request(pair.scheduler().config()));
      break;
    case 1:
      pair.cancel(SeqId{any(1, 40)});
      break;
    case 2:
      pair.release_session(SessionId{any(1, 3)});
      break;
    default:
      pair.clear_prefix_cache();
      break;
  }
}

RC_GTEST_PROP(Snapshot, who_goes_on_from_it_decides_as_if_nothing_had_been, ()) {
  Pair pair(any_config());
  const std::uint32_t steps = any(0, 60);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t events = any(0, 3); events > 0; --events) happen(pair);
    if (any(0, 3) == 0) pair.move();
    pair.schedule();
    if (any(0, 5) == 0) happen(pair);
    pair.commit(any_result(pair.scheduler().plan()));
    if (any(0, 3) == 0) pair.move();
  }
}

}  // namespace
}  // namespace forge
