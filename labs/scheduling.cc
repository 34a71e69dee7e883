#include "scheduling.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "forge/core/invariants.h"
#include "forge/core/names.h"
#include "forge/core/notation.h"
#include "forge/core/scheduler.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"

namespace forge::labs {
namespace {

/// Everybody comes to an end long before, or never.
constexpr std::size_t kStepsMax = 400;

template <class Enum>
Enum of_name(const std::string& name) {
  if (const auto value = from_name<Enum>(name)) return *value;
  throw std::invalid_argument("'" + name + "' is not known");
}

template <class Value>
void read(const Json& input, const char* name, Value& value) {
  if (input.contains(name)) value = input.at(name).get<Value>();
}

/// What happens in a run, told to a recorder if there is one.
class Run {
 public:
  explicit Run(const Schedule& schedule, trace::TraceWriter* writer = nullptr)
      : schedule_(schedule), scheduler_(schedule.config), writer_(writer) {}

  std::vector<std::string> play() {
    for (std::size_t at = 0; at < schedule_.steps.size() || scheduler_.has_work(); ++at) {
      if (at == kStepsMax) {
        lines_.push_back("no end after " + std::to_string(kStepsMax) + " steps");
        break;
      }
      step(at < schedule_.steps.size() ? schedule_.steps[at] : ScheduledStep());
      if (broken_) break;
    }
    return lines_;
  }

 private:
  void step(const ScheduledStep& step) {
    for (const Request& request : step.submit) submit(request);
    for (const SeqId seq : step.cancel) {
      if (scheduler_.cancel(seq) && writer_ != nullptr) {
        writer_->cancel(seq, FinishReason::cancelled);
      }
    }
    const StepPlan& plan = scheduler_.schedule();
    lines_.push_back(plan_row(plan));
    if (check()) return;
    const StepResult result = result_of(plan, step.drafts);
    scheduler_.commit(plan, result);
    if (writer_ != nullptr) writer_->step(plan, result, scheduler_.cache_delta());
    check();
  }

  void submit(const Request& request) {
    const auto seq = scheduler_.submit(request);
    if (!seq) {
      lines_.push_back("refused: " + to_string(seq.error()));
    } else if (writer_ != nullptr) {
      writer_->submit(*seq, request);
    }
  }

  bool check() {
    broken_ = check_invariants(scheduler_);
    if (broken_) lines_.push_back("does not hold: " + *broken_);
    return broken_.has_value();
  }

  const Schedule& schedule_;
  Scheduler scheduler_;
  trace::TraceWriter* writer_;
  std::vector<std::string> lines_;
  std::optional<std::string> broken_;
};

constexpr SchedulerConfig kSmall{.cache = {.num_blocks = 16, .block_size = 1},
                                 .batch = {.max_batch_size = 8, .max_batch_tokens = 64},
                                 .prefill_chunk_size = 64,
                                 .prefix_cache = PrefixCacheKind::none};

}  // namespace

SchedulerConfig config_of(const Json& input, SchedulerConfig config) {
  read(input, "blocks", config.cache.num_blocks);
  read(input, "block_size", config.cache.block_size);
  read(input, "host_blocks", config.cache.num_host_blocks);
  read(input, "batch", config.batch.max_batch_size);
  read(input, "tokens", config.batch.max_batch_tokens);
  read(input, "chunk", config.prefill_chunk_size);
  read(input, "watermark", config.watermark_blocks);
  read(input, "memory_pressure", config.memory_pressure);
  read(input, "decode_priority", config.decode_priority);
  read(input, "head_start", config.priority_head_start);
  read(input, "session_idle_steps", config.session_idle_steps);
  config.preemption = of_name<PreemptionPolicy>(input.value("preemption", "recompute"));
  config.prefix_cache = of_name<PrefixCacheKind>(input.value("prefix_cache", "none"));
  config.draft_lengths = DraftLengths::fixed;
  if (input.contains("swap_cost")) {
    config.swap_setup_cost = input.at("swap_cost").at(0);
    config.swap_block_cost = input.at("swap_cost").at(1);
  }
  if (const auto valid = validate(config); !valid) {
    throw std::invalid_argument(to_string(valid.error()));
  }
  return config;
}

Request request_of(const Json& input) {
  Request request;
  for (const char letter : input.at("prompt").get<std::string>()) {
    request.prompt.emplace_back(static_cast<unsigned char>(letter));
  }
  request.max_new_tokens = input.at("new");
  request.priority = of_name<Priority>(input.value("priority", "normal"));
  if (input.contains("client")) request.client = ClientId{input.at("client")};
  if (input.contains("salt")) request.cache_salt = CacheSalt{input.at("salt")};
  if (input.contains("session")) request.session = SessionId{input.at("session")};
  if (!input.value("cached", true)) request.prefix_cache = PrefixCacheUse::disable;
  return request;
}

StepResult result_of(const StepPlan& plan, std::uint32_t drafts) {
  StepResult result;
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    SliceResult answer{.seq = slice.seq,
                       .first_token = static_cast<std::uint32_t>(result.tokens.size())};
    if (slice.samples) {
      answer.token_count = 1 + std::min(drafts, slice.drafts);
      answer.drafts = drafts;
    }
    for (std::uint32_t i = 0; i < answer.token_count; ++i) result.tokens.emplace_back('.');
    result.slices.push_back(answer);
  }
  return result;
}

Schedule schedule_of(const Json& input) {
  Schedule schedule{config_of(input, kSmall), {}};
  for (const Json& each : input.at("steps")) {
    ScheduledStep& step = schedule.steps.emplace_back();
    for (const Json& request : each.value("submit", Json::array())) {
      step.submit.push_back(request_of(request));
    }
    for (const Json& seq : each.value("cancel", Json::array()))
      step.cancel.emplace_back(seq.get<std::uint64_t>());
    step.drafts = each.value("drafts", 0U);
  }
  return schedule;
}

std::vector<std::string> plans_of(const Schedule& schedule) { return Run(schedule).play(); }

std::string trace_of(const Schedule& schedule) {
  std::ostringstream out;
  {
    trace::TraceWriter writer(out, {.scheduler = schedule.config, .target = {{"lab", "schedule"}}});
    Run(schedule, &writer).play();
    if (!writer.flush()) throw std::runtime_error("the trace was not written");
  }
  return out.str();
}

}  // namespace forge::labs
