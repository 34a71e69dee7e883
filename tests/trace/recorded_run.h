// Traces to test with: runs of a real scheduler and a HashExecutor, recorded as text.
#pragma once

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "forge/core/scheduler.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"
#include "trace/hash_executor.h"

namespace forge::testing {

/// All prompts are made of the same token, so of two the shorter one is a prefix of the longer one.
inline Request request(std::size_t prompt_tokens, std::uint32_t max_new_tokens) {
  return {.prompt = std::vector<TokenId>(prompt_tokens, TokenId{5}),
          .max_new_tokens = max_new_tokens};
}

/// Files in memory, each of so many steps; all in one if that is 0.
class FilesInMemory final : public trace::TraceOutput {
 public:
  explicit FilesInMemory(std::uint64_t steps_a_file) : steps_a_file_(steps_a_file), files_(1) {}

  Written write(std::string_view line) override {
    files_.back() += line;
    if (line.starts_with("{\"step\"")) ++steps_;
    return {};
  }
  Written flush() override { return {}; }
  bool has_next() const override { return steps_a_file_ > 0; }
  bool is_full() const override { return has_next() && steps_ >= steps_a_file_; }
  Written next() override {
    files_.emplace_back();
    steps_ = 0;
    return {};
  }

  const std::vector<std::string>& files() const { return files_; }

 private:
  std::uint64_t steps_a_file_;
  std::uint64_t steps_ = 0;
  std::vector<std::string> files_;
};

inline std::string joined_files(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += file;
  return text;
}

/// A scheduler, a target and a writer that records both, into `others`, too.
class Recording {
 public:
  explicit Recording(const trace::TraceHeader& header, HashExecutor executor = {},
                     std::uint64_t steps_a_file = 0, std::vector<trace::TraceOutput*> others = {})
      : out_(steps_a_file),
        writer_(with(std::move(others), out_), header),
        scheduler_(header.scheduler),
        executor_(std::move(executor)) {}

  SeqId submit(const Request& r) {
    const SeqId seq = scheduler_.submit(r).value();
    executor_.begin(seq, r);
    writer_.submit(seq, r);
    return seq;
  }
  void cancel(SeqId seq) {
    if (scheduler_.cancel(seq)) writer_.cancel(seq, FinishReason::cancelled);
  }
  void release_session(SessionId session) {
    if (scheduler_.release_session(session)) writer_.release_session(session);
  }
  void clear_prefix_cache() {
    scheduler_.clear_prefix_cache();
    writer_.clear_prefix_cache();
  }
  const StepPlan& step() {
    const StepPlan& plan = scheduler_.schedule();
    if (const auto done = executor_.execute(plan, result_); !done) {
      done.error().target_lost ? lose_step(plan, result_) : fail_step(plan, result_);
    }
    scheduler_.commit(plan, result_);
    writer_.step(plan, result_, scheduler_.cache_delta());
    if (writer_.wants_snapshot()) writer_.go_on(scheduler_.snapshot());
    return plan;
  }
  void run() {
    while (scheduler_.has_work()) step();
  }

  const Scheduler& scheduler() const { return scheduler_; }
  const trace::TraceWriter& writer() const { return writer_; }
  std::string text() const { return joined_files(out_.files()); }
  const std::vector<std::string>& files() const { return out_.files(); }

 private:
  static std::vector<trace::TraceOutput*> with(std::vector<trace::TraceOutput*> others,
                                               trace::TraceOutput& first) {
    others.insert(others.begin(), &first);
    return others;
  }

  FilesInMemory out_;
  trace::TraceWriter writer_;
  Scheduler scheduler_;
  HashExecutor executor_;
  StepResult result_;
};

/// Submits all requests and runs to the end.
inline std::string record(const trace::TraceHeader& header, const std::vector<Request>& requests,
                          HashExecutor executor = {}) {
  Recording run(header, std::move(executor));
  for (const Request& r : requests) run.submit(r);
  run.run();
  return run.text();
}

/// Three sequences on six blocks of size one: admitted, preempted, resumed, cancelled.
inline std::string small_trace() {
  Recording run({.scheduler = {.cache = {.num_blocks = 6, .block_size = 1},
                               .batch = {.max_batch_size = 4},
                               .prefix_cache = PrefixCacheKind::none},
                 .target = {{"model", "hash"}}});
  for (const Request& r : {request(2, 4), request(3, 3), request(1, 2)}) run.submit(r);
  run.step();
  run.step();
  run.cancel(SeqId{3});
  run.run();
  return run.text();
}

/// Everything that a policy can do in one short run: prompts in chunks, prefix hits with a copied
/// block, swap and recomputation, drafts, priorities, a deadline, sessions released and the
/// cache cleared. `preemption` decides between swap and recomputation.
inline std::vector<std::string> eventful_files(PreemptionPolicy preemption,
                                               trace::TraceTokens tokens,
                                               std::uint64_t steps_a_file) {
  HashExecutor executor;
  executor.drafts = 2;
  Recording run({.scheduler = {.cache = {.num_blocks = 14, .block_size = 4, .num_host_blocks = 8},
                               .batch = {.max_batch_size = 4, .max_batch_tokens = 12},
                               .prefill_chunk_size = 6,
                               .preemption = preemption,
                               .swap_setup_cost = 2,
                               .swap_block_cost = 3},
                 .target = {{"model", "hash"}},
                 .tokens = tokens},
                executor, steps_a_file);
  Request first = request(13, 8);
  first.session = SessionId{7};
  run.submit(first);
  run.run();
  for (const std::uint32_t prompt : {10u, 15u, 18u, 12u}) {
    Request next = request(prompt, 16);
    next.priority = prompt == 15 ? Priority::high : Priority::normal;
    run.submit(next);
  }
  Request hurried = request(9, 20);
  hurried.priority = Priority::low;
  hurried.deadline_steps = 12;
  run.submit(hurried);
  for (int i = 0; i < 6; ++i) run.step();
  run.release_session(SessionId{7});
  Request alone = request(7, 3);
  alone.prefix_cache = PrefixCacheUse::disable;
  run.submit(alone);
  run.run();
  run.clear_prefix_cache();
  run.submit(request(12, 2));
  run.run();
  return run.files();
}
inline std::string eventful_trace(PreemptionPolicy preemption = PreemptionPolicy::automatic,
                                  trace::TraceTokens tokens = trace::TraceTokens::exposed) {
  return joined_files(eventful_files(preemption, tokens, 0));
}

/// One request of shared_trace(): `random` decides whose it is, how long, and what it asks for.
inline Request shared_request(std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  const std::uint32_t max_new_tokens = 8 + below(12);
  Request one = request(1 + below(12), max_new_tokens);
  one.client = ClientId{0xfffffffffffffffe + below(3)};  // the last of them is 0
  one.user = UserId{below(2)};
  one.weight = 1 + 2 * below(2);
  one.priority = Priority{static_cast<std::uint8_t>(below(3))};
  if (below(8) == 0) one.deadline_steps = 6 + below(9);
  if (below(6) == 0) one.session = SessionId{0xffffffffffffff00 + below(2)};
  if (!one.session && below(6) == 0) one.prefix_cache = PrefixCacheUse::disable;
  if (below(5) == 0) {
    one.sampling = {.temperature = 0.7F, .seed = 0xfedcba9876543210, .top_p = 0.95F};
    one.sampling.logit_bias = {{.token = TokenId{3}, .bias = -1.5F}};
    one.cache_salt = CacheSalt{0x0123456789abcdef};
  }
  return one;
}

/// Three clients, two users of each and few blocks: turns that every rule decides, swaps, drafts,
/// cancellations, a step that fails and one in which all KV is lost.
inline std::vector<std::string> shared_files(std::uint64_t steps_a_file) {
  HashExecutor executor;
  executor.drafts = 2;
  executor.failing_steps = {58};
  executor.lost_steps = {49};
  Recording run({.scheduler = {.cache = {.num_blocks = 17, .block_size = 3, .num_host_blocks = 9},
                               .batch = {.max_batch_size = 4, .max_batch_tokens = 12},
                               .prefill_chunk_size = 5,
                               .watermark_blocks = 0,
                               .decode_priority = 40,
                               .priority_head_start = 2,
                               .swap_setup_cost = 1,
                               .swap_block_cost = 2,
                               .prefix_cache_max = 8},
                 .target = {{"model", "hash"}}},
                executor, steps_a_file);
  std::mt19937 random(14);
  for (int step = 0; step < 40; ++step) {
    for (std::uint32_t i = random() % 3; i > 0 && step % 12 < 7; --i)
      run.submit(shared_request(random));
    if (step % 13 == 7) run.cancel(run.submit(shared_request(random)));
    run.step();
  }
  run.run();
  return run.files();
}
inline std::string shared_trace() { return joined_files(shared_files(0)); }

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
