#include "forge/trace/trace_stats.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "forge/trace/trace_state.h"

namespace forge::trace {
namespace {

/// How often each value was seen; there are not many different ones.
class Counts {
 public:
  void add(std::uint64_t value) {
    ++of_[value];
    ++total_;
  }

  TraceStats::Distribution distribution() const {
    if (of_.empty()) return {};
    return {percentile(50), percentile(95), of_.rbegin()->first};
  }

 private:
  std::uint64_t percentile(std::uint64_t percent) const {
    std::uint64_t seen = 0;
    for (const auto& [value, count] : of_) {
      seen += count;
      if (seen * 100 >= total_ * percent) return value;
    }
    return 0;
  }

  std::map<std::uint64_t, std::uint64_t> of_;
  std::uint64_t total_ = 0;
};

class Gatherer {
 public:
  explicit Gatherer(TraceReader& trace) : trace_(trace), state_(trace.header().scheduler) {}

  tl::expected<TraceStats, TraceError> run() {
    while (true) {
      const std::uint64_t begin = trace_.place().byte;
      const auto event = trace_.next();
      if (!event) return tl::unexpected(event.error());
      if (!*event) break;
      const std::uint64_t bytes = trace_.place().byte - begin;
      std::visit([&](const auto& e) { before(e, bytes); }, **event);
      if (const auto done = state_.apply(**event); !done) {
        return tl::unexpected(trace_.error_here(done.error()));
      }
      peaks();
    }
    stats_.bytes.total = trace_.place().byte;
    stats_.batch_size = batch_size_.distribution();
    stats_.batch_tokens = batch_tokens_.distribution();
    return stats_;
  }

 private:
  // Before the state follows the event: what is new about it?

  void before(const SubmitEvent& event, std::uint64_t bytes) {
    ++stats_.requests;
    stats_.prompt_tokens += event.request.prompt.size();
    stats_.bytes.submissions += bytes;
  }
  /// Those who were there already, if the trace begins with it.
  void before(const SnapshotEvent& event, std::uint64_t bytes) {
    stats_.bytes.snapshots += bytes;
    if (state_.has_begun()) return;
    stats_.requests += event.requests.size();
    for (const OpenRequest& open : event.requests) {
      stats_.prompt_tokens += open.submit.request.prompt.size();
    }
  }
  void before(const CancelEvent&, std::uint64_t) {}
  void before(const ReleaseSessionEvent&, std::uint64_t) {}
  void before(const ClearPrefixCacheEvent&, std::uint64_t) {}

  void before(const StepEvent& event, std::uint64_t bytes) {
    ++stats_.steps;
    stats_.bytes.steps += bytes;
    stats_.bytes.links += std::string_view(R"(,"link":"0123456789abcdef")").size();
    if (const std::size_t digests = event.result.logits.size(); digests > 0) {
      stats_.bytes.logits_digests += std::string_view(R"(,"logits":[])").size() +
                                     digests * std::string_view(R"("0123456789abcdef")").size() +
                                     digests - 1;
    }
    plan(event.plan);
    slices(event.plan, event.result);
  }

  void plan(const StepPlan& plan) {
    for (const Finish& f : plan.finished) ++stats_.finished[static_cast<std::size_t>(f.reason)];
    for (const BlockCopy& c : plan.copies) ++stats_.copies[static_cast<std::size_t>(c.kind)];
    for (const Preemption& p : plan.preempted) {
      ++(p.mode == PreemptionMode::swap ? stats_.preemptions_swap : stats_.preemptions_recompute);
    }
    for (const Admission& a : plan.admitted) {
      ++stats_.admissions;
      stats_.prefix_hits += a.cached_tokens > 0 ? 1 : 0;
      stats_.cached_tokens += a.cached_tokens;
    }
    for (const Admission& a : plan.resumed) {
      const TracedSequence* const sequence = state_.find(a.seq);
      if (sequence == nullptr || sequence->place == TracedSequence::Place::swapped) continue;
      stats_.recovered_tokens += a.cached_tokens;
    }
  }

  void slices(const StepPlan& plan, const StepResult& result) {
    if (plan.slices.empty()) return;
    std::uint64_t tokens = 0;
    for (const Slice& slice : plan.slices) {
      tokens += slice.count;
      stats_.drafts_proposed += slice.drafts;
      const TracedSequence* const sequence = state_.find(slice.seq);
      if (sequence == nullptr || sequence->most_computed_tokens <= slice.first) continue;
      stats_.recomputed_tokens +=
          std::min(slice.count, sequence->most_computed_tokens - slice.first);
    }
    for (const SliceResult& answer : result.slices) {
      stats_.generated_tokens += answer.token_count;
      stats_.drafts_accepted += answer.token_count > 0 ? answer.token_count - 1 : 0;
    }
    stats_.run_tokens += tokens;
    batch_size_.add(plan.slices.size());
    batch_tokens_.add(tokens);
  }

  void peaks() {
    const auto raise = [](std::uint64_t& peak, std::uint64_t value) {
      peak = std::max(peak, value);
    };
    raise(stats_.blocks_peak, state_.blocks().held_count());
    raise(stats_.host_blocks_peak, state_.host_blocks());
    raise(stats_.waiting_peak, state_.waiting_count() + state_.swapped_count());
  }

  TraceReader& trace_;
  TraceState state_;
  TraceStats stats_;
  Counts batch_size_;
  Counts batch_tokens_;
};

}  // namespace

std::uint64_t TraceStats::unfinished() const {
  return requests - std::accumulate(finished.begin(), finished.end(), std::uint64_t{0});
}

tl::expected<TraceStats, TraceError> stats(TraceReader& trace) { return Gatherer(trace).run(); }

}  // namespace forge::trace
