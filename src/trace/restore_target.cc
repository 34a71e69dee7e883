#include "forge/trace/restore_target.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace forge::trace {
namespace {

/// What becomes of a sequence whose KV is there.
enum class Then : std::uint8_t { stay, finish, swap, drop };

/// A sequence that computes KV.
struct Job {
  SeqId seq;
  std::vector<BlockId> table;
  std::uint32_t first = 0;  ///< where it begins: what is before is there
  std::uint32_t end = 0;    ///< tokens whose KV is wanted
  Then then = Then::stay;
  std::vector<BlockId> host;  ///< where it is swapped to

  std::uint32_t valid = 0;  ///< tokens whose KV is there, once it has begun
};

/// Which blocks jobs write, and which they use at all. What one writes no other may use.
class UseOfBlocks {
 public:
  explicit UseOfBlocks(std::uint32_t block_size) : block_size_(block_size) {}

  void add(const Job& job) {
    for (std::size_t i = 0; i < end_of(job); ++i) {
      used_.insert(job.table[i]);
      if (i >= job.first / block_size_) written_.insert(job.table[i]);
    }
  }

  bool disturbs(const Job& job) const {
    for (std::size_t i = 0; i < end_of(job); ++i) {
      const bool writes = i >= job.first / block_size_;
      if ((writes ? used_ : written_).contains(job.table[i])) return true;
    }
    return false;
  }

 private:
  std::size_t end_of(const Job& job) const { return (job.end + block_size_ - 1) / block_size_; }

  std::uint32_t block_size_;
  std::set<BlockId> used_;
  std::set<BlockId> written_;
};

/// Runs jobs, as many at a time as a batch holds.
class Runner {
 public:
  Runner(Executor& executor, const SchedulerConfig& config)
      : executor_(executor), config_(config) {}

  /// In this order as far as they do not hold each other up: no two that run write one block.
  tl::expected<void, std::string> run(std::vector<Job> jobs) {
    waiting_ = std::move(jobs);
    while (!waiting_.empty() || std::ranges::any_of(running_, is_under_way)) {
      if (auto done = step(); !done) return done;
    }
    return {};
  }

 private:
  static bool is_under_way(const Job& job) { return job.valid < job.end || job.then != Then::stay; }

  tl::expected<void, std::string> step() {
    plan_.clear();
    plan_.step = next_;
    ++next_.value;
    budget_ = config_.batch.max_batch_tokens;
    retire();
    for (Job& job : running_) go_on(job);
    UseOfBlocks before(config_.cache.block_size);  // by those that run, or come before
    for (const Job& job : running_) {
      if (is_under_way(job)) before.add(job);
    }
    for (std::size_t i = 0; i < waiting_.size() && has_room();) {
      const bool may_begin = !before.disturbs(waiting_[i]);
      before.add(waiting_[i]);
      if (!may_begin) {
        ++i;
        continue;
      }
      begin(std::move(waiting_[i]));
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (auto done = executor_.execute(plan_, result_); !done) {
      return tl::unexpected(std::move(done.error().message));
    }
    return {};
  }

  bool has_room() const { return running_.size() < config_.batch.max_batch_size && budget_ > 0; }

  /// Those whose KV is there leave the batch, unless they stay.
  void retire() {
    std::erase_if(running_, [&](const Job& job) {
      if (job.valid < job.end || job.then == Then::stay) return false;
      if (job.then == Then::finish) {
        plan_.finished.push_back({job.seq, FinishReason::length});
        return true;
      }
      const bool is_swapped = job.then == Then::swap;
      plan_.preempted.push_back(
          {job.seq, is_swapped ? PreemptionMode::swap : PreemptionMode::recompute});
      for (std::size_t i = 0; i < job.host.size(); ++i) {
        plan_.copies.push_back({CopyKind::swap_out, job.table[i], job.host[i]});
      }
      return true;
    });
  }

  void begin(Job job) {
    job.valid = job.first;
    plan_.admitted.push_back({job.seq, job.first});
    running_.push_back(std::move(job));
    go_on(running_.back());
    if (running_.back().table.empty()) return;
    const Job& begun = running_.back();
    plan_.tables.push_back(
        {.seq = begun.seq,
         .truncated_to = 0,
         .appended_first = static_cast<std::uint32_t>(plan_.appended_blocks.size()),
         .appended_count = static_cast<std::uint32_t>(begun.table.size())});
    plan_.appended_blocks.insert(plan_.appended_blocks.end(), begun.table.begin(),
                                 begun.table.end());
  }

  void go_on(Job& job) {
    const std::uint32_t count = std::min(budget_, job.end - job.valid);
    if (count == 0) return;
    plan_.slices.push_back({.seq = job.seq, .first = job.valid, .count = count, .samples = false});
    job.valid += count;
    budget_ -= count;
  }

  Executor& executor_;
  const SchedulerConfig& config_;
  StepId next_{std::uint64_t{1} << 63};  // far beyond those of a run
  std::vector<Job> waiting_;
  std::vector<Job> running_;
  std::uint32_t budget_ = 0;
  StepPlan plan_;
  StepResult result_;
};

/// The first `count` blocks of the device: while nothing else is there yet, any will do.
std::vector<BlockId> any_blocks(std::size_t count) {
  std::vector<BlockId> blocks;
  blocks.reserve(count);
  while (blocks.size() < count) blocks.emplace_back(static_cast<std::uint32_t>(blocks.size()));
  return blocks;
}

/// Those who wait: some with KV on the host, some have been in the batch.
std::vector<Job> jobs_of_waiting(const SchedulerSnapshot& snapshot) {
  std::map<SeqId, const TableSnapshot*> on_host;
  for (const TableSnapshot& table : snapshot.host.tables) on_host[table.seq] = &table;
  std::vector<Job> jobs;
  for (const SequenceSnapshot& sequence : snapshot.sequences) {
    const SequenceView& view = sequence.view;
    if (view.state != SequenceState::waiting || !sequence.admitted) continue;
    Job job{.seq = view.seq, .end = view.computed_tokens, .then = Then::drop};
    if (const auto found = on_host.find(view.seq); found != on_host.end()) {
      job.then = Then::swap;
      job.host = found->second->blocks;
      job.table = any_blocks(job.host.size());
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Sequences that run each cached block once, and their requests.
struct Prefixes {
  std::vector<Job> jobs;
  std::vector<Request> requests;
};
Prefixes prefixes_of(const SchedulerSnapshot& snapshot, std::uint32_t block_size) {
  std::map<BlockId, const CachedBlock*> cached;
  std::set<BlockId> inner;
  for (const CachedBlock& block : snapshot.cache.cached) {
    cached[block.block] = &block;
    if (block.parent) inner.insert(*block.parent);
  }
  Prefixes prefixes;
  std::set<BlockId> there;
  SeqId next = snapshot.next_seq;
  for (const CachedBlock& leaf : snapshot.cache.cached) {
    if (inner.contains(leaf.block)) continue;
    std::vector<const CachedBlock*> path;
    for (const CachedBlock* up = &leaf; up != nullptr;
         up = up->parent ? cached.at(*up->parent) : nullptr) {
      path.push_back(up);
    }
    std::ranges::reverse(path);
    Job job{.seq = next, .then = Then::finish};
    ++next.value;
    Request request{.max_new_tokens = 1};
    for (const CachedBlock* block : path) {
      if (!there.insert(block->block).second) job.first += block_size;
      job.table.push_back(block->block);
      request.prompt.insert(request.prompt.end(), block->tokens.begin(), block->tokens.end());
    }
    job.end = static_cast<std::uint32_t>(request.prompt.size());
    request.prompt.push_back(request.prompt.front());  // one that does not run
    prefixes.jobs.push_back(std::move(job));
    prefixes.requests.push_back(std::move(request));
  }
  return prefixes;
}

/// Those who run. Each runs a token at least, because a table comes with a slice.
std::vector<Job> jobs_of_running(const SchedulerSnapshot& snapshot, std::uint32_t block_size) {
  std::map<SeqId, const TableSnapshot*> tables;
  for (const TableSnapshot& table : snapshot.cache.tables) tables[table.seq] = &table;
  std::map<SeqId, const SequenceSnapshot*> sequences;
  for (const SequenceSnapshot& sequence : snapshot.sequences) {
    sequences[sequence.view.seq] = &sequence;
  }
  std::vector<Job> jobs;
  for (const SeqId seq : snapshot.running) {
    const SequenceView& view = sequences.at(seq)->view;
    if (view.state == SequenceState::finishing || view.computed_tokens == 0) continue;
    const TableSnapshot& table = *tables.at(seq);
    jobs.push_back({.seq = seq,
                    .table = table.blocks,
                    .first = std::min(table.published * block_size, view.computed_tokens - 1),
                    .end = view.computed_tokens});
  }
  return jobs;
}

}  // namespace

tl::expected<void, std::string> restore_target(Executor& executor, const SchedulerConfig& config,
                                               const SnapshotEvent& event) {
  const SchedulerSnapshot& snapshot = event.scheduler;
  for (const OpenRequest& open : event.requests) {
    const Request& request = open.submit.request;
    const std::string name = "sequence " + std::to_string(open.submit.seq.value) + ": ";
    if (const auto refusal = executor.refuses(request)) return tl::unexpected(name + *refusal);
    const auto resumed =
        executor.resume(open.submit.seq, request, {.output = open.output, .told = open.told});
    if (!resumed) return tl::unexpected(name + resumed.error());
  }
  Runner runner(executor, config);
  if (auto done = runner.run(jobs_of_waiting(snapshot)); !done) return done;
  Prefixes prefixes = prefixes_of(snapshot, config.cache.block_size);
  for (std::size_t i = 0; i < prefixes.jobs.size(); ++i) {
    executor.begin(prefixes.jobs[i].seq, prefixes.requests[i]);
  }
  if (auto done = runner.run(std::move(prefixes.jobs)); !done) return done;
  return runner.run(jobs_of_running(snapshot, config.cache.block_size));
}

}  // namespace forge::trace
