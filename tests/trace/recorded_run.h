// Traces to test with: runs of a real scheduler and a HashExecutor, recorded as text.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "forge/core/scheduler.h"
#include "forge/trace/trace_writer.h"
#include "trace/hash_executor.h"

namespace forge::testing {

inline Request request(std::size_t prompt_tokens, std::uint32_t max_new_tokens) {
  return {.prompt = std::vector<TokenId>(prompt_tokens, TokenId{5}),
          .max_new_tokens = max_new_tokens};
}

/// Submits all requests, cancels sequence `cancelled` (if any) after step 1, runs to the end.
inline std::string record(const TraceHeader& header, const std::vector<Request>& requests,
                          HashExecutor executor = {}, std::uint64_t cancelled = 0) {
  std::ostringstream out;
  TraceWriter writer(out, header);
  Scheduler scheduler(header.scheduler);
  for (const Request& r : requests) {
    const SeqId seq = scheduler.submit(r).value();
    executor.begin(seq, r);
    writer.submit(seq, r);
  }
  StepResult result;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    if (!executor.execute(plan, result)) {
      result.clear();
      result.step = plan.step;
      for (const Slice& s : plan.slices) {
        result.slices.push_back({.seq = s.seq, .signal = FinishSignal::error});
      }
    }
    scheduler.commit(plan, result);
    writer.step(plan, result);
    if (plan.step.value == 1 && scheduler.cancel(SeqId{cancelled})) {
      writer.cancel(SeqId{cancelled}, FinishReason::cancelled);
    }
  }
  return out.str();
}

/// Three sequences that share six blocks of size one: admitted, preempted, resumed, cancelled.
inline std::string small_trace() {
  return record({.scheduler = {.num_blocks = 6, .block_size = 1, .max_batch_size = 4},
                 .target = {{"model", "hash"}}},
                {request(2, 4), request(3, 3), request(1, 2)}, {}, 3);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Line of the step `step` (0 is the header's line).
inline std::size_t line_of_step(const std::vector<std::string>& lines, std::uint64_t step) {
  const std::string start = "{\"step\":{\"step\":" + std::to_string(step) + ",";
  std::size_t i = 0;
  while (lines.at(i).rfind(start, 0) != 0) ++i;
  return i;
}

/// The first occurrence of `from` in `text` replaced; the text must have one.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace forge::testing
