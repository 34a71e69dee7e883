// World: one state of the exploration, and every event that can happen in it.
//
// The scheduler, a target that knows only its plans, and a witness who counts what cannot be seen
// in one state: who was overtaken, how many steps preempted. Apply an event, and everything that
// must hold is checked:
//
//   invariant N         check_invariants (forge/core/invariants.h)
//   check failed        a FORGE_CHECK of the core
//   provenance          a slice would read KV that is not that of its own tokens (delta_target.h)
//   target              the tables that the plans spell are not the scheduler's
//   idle plan           there is work, and nothing of it runs
//   order               admitted before another one of its user that has a smaller admission_key
//                       (policy.h), or new while one that has begun is first of its user
//   overtaking          more by its user's than overtakers_max (policy.h), counted from the plans
//   shares              clients that wait are served too differently (share_witness.h)
//   preemption          more steps preempted than tokens were generated (scheduler.h)
//   cache delta         the deltas of the steps say that something else is cached (delta_index.h)
//   leftovers           no work is left, but something is not given back
//
// Requests come from a menu of a few; each is submitted at most once, in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "delta_index.h"
#include "delta_target.h"
#include "forge/core/policy.h"
#include "forge/core/scheduler.h"
#include "share_witness.h"

namespace forge::testing {

/// What a FORGE_CHECK throws in programs that link throwing_check.cc.
struct CheckFailed : std::logic_error {
  using std::logic_error::logic_error;
};

/// What is explored: every order of events of these requests under this configuration.
struct Instance {
  std::string name;
  SchedulerConfig config;
  std::vector<Request> menu;
  std::uint32_t max_drafts = 1;  ///< wanted by an answer: 0 .. max_drafts
  bool errors = true;            ///< slices may fail
  bool cancels = true;           ///< sequences may be cancelled
  bool clears = false;           ///< the prefix cache may be cleared, once
  bool loses = false;            ///< all KV may be lost in a step, once
};

/// The answer to the slice of one request. `item` is its place in the menu.
struct Answer {
  std::uint32_t item = 0;
  FinishSignal signal = FinishSignal::none;
  std::uint32_t tokens = 0;
  std::uint32_t drafts = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

enum class EventKind : std::uint8_t { submit, cancel, release, clear, schedule, commit, lose };

struct Event {
  EventKind kind = EventKind::schedule;
  std::uint32_t item = 0;       ///< submitted or cancelled; the session released
  std::vector<Answer> answers;  ///< of a commit; a slice that none is for gets the plain answer
  friend bool operator==(const Event&, const Event&) = default;
};
std::string to_string(const Event& event);

class World {
 public:
  /// Requires: `instance` outlives the world and its copies.
  explicit World(const Instance& instance);

  /// All events that can happen now, in a fixed order.
  std::vector<Event> events() const;

  /// False if `event` cannot happen now: nothing has changed then.
  bool can(const Event& event) const;

  /// Returns: what is violated, if anything is; the world is then of no more use.
  /// Requires: can(event).
  std::optional<std::string> apply(const Event& event);

  const Scheduler& scheduler() const { return scheduler_; }
  const Instance& instance() const { return *instance_; }
  SeqId seq(std::uint32_t item) const { return items_[item].seq; }
  /// The result that apply() gives to the plan in flight. Requires: the event ends the step.
  StepResult result_for(const Event& event) const;

  /// Equal for worlds with equal futures.
  std::uint64_t digest() const;

 private:
  struct Item {
    SeqId seq;  // 0 until it is submitted
    bool waits = false;
    bool has_begun = false;
    std::uint64_t overtaken = 0;
  };

  std::optional<std::string> apply_unchecked(const Event& event);
  std::optional<std::string> schedule();
  std::optional<std::string> commit(const Event& event);
  std::optional<std::string> compare_tables() const;
  std::optional<std::string> lose_kv();
  std::optional<std::string> check_at_rest() const;
  std::optional<std::string> admit(std::uint32_t item, bool first_time);
  bool same_user(std::uint32_t a, std::uint32_t b) const;
  bool is_first(std::uint32_t item) const;
  AdmissionKey key(std::uint32_t item) const;
  std::vector<Answer> answers_to(const Slice& slice) const;
  std::uint32_t item_of(SeqId seq) const;
  bool is_live(std::uint32_t item) const;

  const Instance* instance_;
  Scheduler scheduler_;
  DeltaTarget target_;
  std::optional<ShareWitness> shares_;  // where the menu is of several clients or users
  std::vector<Item> items_;
  std::uint64_t tokens_ = 0;
  std::uint64_t preempting_steps_ = 0;
  DeltaIndex cached_;
  bool cleared_ = false;
  bool lost_ = false;
};

}  // namespace forge::testing
