// Requests through a SlotWorker, and the plans of its steps.
#include <stdexcept>

#include "answering.h"
#include "forge/core/notation.h"
#include "slot_worker.h"

namespace forge::labs {
namespace {

constexpr std::uint32_t kMost = 200;

struct Arrival {
  std::uint32_t step = 0;  // before which it is submitted
  Request request;
  std::uint32_t eos = 0;  // the token of its answer that is the last one; 0: none is
};

struct Case {
  std::uint32_t slots = 0;
  std::uint32_t steps = 0;
  std::vector<Arrival> arrivals;  // request i has the id i + 1
};

std::uint32_t number(const Json& input, const char* name, std::uint32_t least) {
  const auto value = input.at(name).get<std::uint32_t>();
  if (value < least || value > kMost) throw std::invalid_argument(name);
  return value;
}

/// {"slots": 2, "steps": 4, "requests": [{"step": 0, "prompt": 3, "new": 8, "eos": 0}, ...]}
Case case_of(const Json& input) {
  Case played{.slots = number(input, "slots", 1), .steps = number(input, "steps", 0)};
  for (const Json& each : input.at("requests")) {
    Arrival arrival{.step = number(each, "step", 0), .eos = number(each, "eos", 0)};
    arrival.request.prompt.assign(number(each, "prompt", 1), TokenId{1});
    arrival.request.max_new_tokens = number(each, "new", 1);
    if (!played.arrivals.empty() && arrival.step < played.arrivals.back().step) {
      throw std::invalid_argument("requests are in the order of their steps");
    }
    played.arrivals.push_back(arrival);
  }
  return played;
}

/// The plans of all steps.
std::vector<StepPlan> plans_of(const Case& played) {
  testing::SlotWorker worker(played.slots);
  std::vector<StepPlan> plans;
  std::vector<std::uint32_t> tokens(played.arrivals.size());  // of each answer, so far
  std::size_t submitted = 0;
  for (std::uint32_t step = 0; step < played.steps; ++step) {
    for (; submitted < tokens.size() && played.arrivals[submitted].step <= step; ++submitted) {
      worker.submit(SeqId{submitted + 1}, played.arrivals[submitted].request);
    }
    const StepPlan& plan = plans.emplace_back(worker.step());
    std::vector<bool> eos;
    for (const Slice& slice : plan.slices) {
      const std::size_t at = slice.seq.value - 1;
      eos.push_back(at < submitted && ++tokens[at] == played.arrivals[at].eos);
    }
    worker.finish_step(eos);
  }
  return plans;
}

std::string joined(const PlanWords& words, const char* sign) {
  std::string text;
  for (const std::string& word : words) text.append(" ").append(sign).append(word);
  return text;
}

/// A case -> a line a step, in the notation of plans: who leaves and comes, and what runs.
Json rows(const Json& input) {
  Json lines = Json::array();
  for (const StepPlan& plan : plans_of(case_of(input))) {
    std::string line = "step " + std::to_string(lines.size()) + ":";
    for (const Finish& finish : plan.finished) line += " !" + std::to_string(finish.seq.value);
    line += joined(admission_words(plan.admitted), "+") + " |";
    if (plan.decodes > plan.slices.size()) {
      line += " " + std::to_string(plan.decodes) + " decodes in " +
              std::to_string(plan.slices.size()) + " slices";
    } else {
      line += joined(slice_words(plan), "");
    }
    lines.push_back(line);
  }
  return lines;
}

/// A case -> a line a step that says of somebody that it has ended, and why.
Json ends(const Json& input) {
  Json lines = Json::array();
  std::size_t step = 0;
  for (const StepPlan& plan : plans_of(case_of(input))) {
    std::string line = "step " + std::to_string(step++) + " says:";
    for (const Finish& finish : plan.finished) {
      line += " " + std::to_string(finish.seq.value) + " " + std::string(name_of(finish.reason));
    }
    if (!plan.finished.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"submit", rows}, {"step", rows}, {"finish_step", ends}};
}

}  // namespace forge::labs
