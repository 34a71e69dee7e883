// The policy alone, no model: two requests share a KV cache of six blocks that hold one token
// each. Both fit at first; when they have grown, one is preempted and resumes after the other, from
// what is left of it in the prefix cache.
//
// The loop of main() is what an engine does: schedule, execute, commit. Here the target that
// executes is a few lines, since the policy only needs to know how many tokens came out.
#include <cstdio>
#include <string>

#include "forge/core/scheduler.h"

namespace {

using namespace forge;

/// A target that answers every slice that samples with the token 7.
void execute(const StepPlan& plan, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    const auto first = static_cast<std::uint32_t>(result.tokens.size());
    if (slice.samples) result.tokens.push_back(TokenId(7));
    result.slices.push_back(
        {.seq = slice.seq, .first_token = first, .token_count = slice.samples ? 1U : 0U});
  }
}

void print_line(const char* what, SeqId seq, const std::string& more = "") {
  std::printf("  %s %s%s\n", what, std::to_string(seq.value).c_str(), more.c_str());
}

std::string cached(const Admission& admission) {
  return ", cached tokens: " + std::to_string(admission.cached_tokens);
}

/// One line a decision, in the order in which a target applies them.
void print(const StepPlan& plan) {
  std::printf("step %s\n", std::to_string(plan.step.value).c_str());
  for (const Finish& finish : plan.finished) print_line("finished", finish.seq);
  for (const Preemption& preemption : plan.preempted) print_line("preempted", preemption.seq);
  for (const Admission& back : plan.resumed) print_line("resumed", back.seq, cached(back));
  for (const Admission& fresh : plan.admitted) print_line("admitted", fresh.seq, cached(fresh));
  for (const TableDelta& delta : plan.tables) {
    std::string blocks = " gets blocks";
    for (const BlockId block : plan.appended(delta)) blocks += " " + std::to_string(block.value);
    print_line("sequence", delta.seq, blocks);
  }
  for (const Slice& slice : plan.slices) {
    const std::uint32_t last = slice.first + slice.count - 1;
    print_line("sequence", slice.seq,
               " runs tokens " + std::to_string(slice.first) + " to " + std::to_string(last));
  }
}

}  // namespace

int main() {
  Scheduler scheduler(
      {.cache = {.num_blocks = 6, .block_size = 1}, .batch = {.max_batch_size = 2}});
  for (const TokenId first : {TokenId(1), TokenId(2)}) {
    Request request;
    request.prompt = {first, TokenId(3)};
    request.max_new_tokens = 4;
    const auto seq = scheduler.submit(request);
    if (!seq) {
      std::fprintf(stderr, "refused: %s\n", to_string(seq.error()).c_str());
      return 1;
    }
  }

  StepResult result;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    print(plan);
    execute(plan, result);
    scheduler.commit(plan, result);
  }
}
