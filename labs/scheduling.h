// Schedules as cases of labs: requests that come at given steps, played through the Scheduler.
//
//   {"blocks": 6, "block_size": 1, "host_blocks": 0, "batch": 4, "tokens": 64, "chunk": 64,
//    "preemption": "recompute", "swap_cost": [32, 2], "prefix_cache": "none",
//    "steps": [{"submit": [{"prompt": "ab", "new": 3, "priority": "normal"}], "cancel": [],
//               "drafts": 0}, ...]}
//
// A letter of a prompt is a token. What is left out has a default, as has "head_start",
// "session_idle_steps" and whatever else config_of() reads; a request may also have "client",
// "salt", "session", and "cached": false, to do without the prefix cache. Each slice that samples
// yields one token, and keeps as many of its drafts as `drafts` says; then the step asks for
// `drafts` new ones. After the listed steps the run goes on until no work is left.
#pragma once

#include <string>
#include <vector>

#include "answering.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/step_plan.h"

namespace forge::labs {

struct ScheduledStep {
  std::vector<Request> submit;
  std::vector<SeqId> cancel;
  std::uint32_t drafts = 0;
};

struct Schedule {
  SchedulerConfig config;
  std::vector<ScheduledStep> steps;
};

/// The configuration that a case says, which has the values of `config` where it says nothing.
/// Throws std::invalid_argument if it is not valid.
SchedulerConfig config_of(const Json& input, SchedulerConfig config);

/// A request, as above. Throws std::invalid_argument for a name that is not known.
Request request_of(const Json& input);

/// A token for each slice that samples, always the same one, so that equal prompts go on equally;
/// as many drafts kept as `drafts` says, and as many wanted.
StepResult result_of(const StepPlan& plan, std::uint32_t drafts);

/// Throws if it is not as above, or if the configuration is not valid.
Schedule schedule_of(const Json& input);

/// The run, a line a step: the plan as plan_row has it, and what does not hold after it, if
/// something does not (check_invariants). A request that the scheduler refuses is a line, too.
std::vector<std::string> plans_of(const Schedule& schedule);

/// The same run as a trace, for forge-trace and the page.
std::string trace_of(const Schedule& schedule);

}  // namespace forge::labs
