// ModelScheduler: the policy of scheduler.h once more, as plainly as it can be said.
//
// Maps, sets and token vectors, no reuse of memory, nothing remembered that can be computed.
// Written from the text of the headers, not from their sources. The property tests hold the real
// scheduler to it step by step: equal lists in equal plans but for the ids of blocks, equal numbers
// of blocks. bench/ measures the real one against it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/step_plan.h"
#include "model_cache.h"
#include "model_drafts.h"
#include "model_queue.h"
#include "model_sessions.h"

namespace forge::testing {

class ModelScheduler {
 public:
  explicit ModelScheduler(const SchedulerConfig& config)
      : config_(config), cache_(config), queue_(config) {}

  /// A StepPlan without ids of blocks.
  struct Plan {
    std::vector<Admission> admitted, resumed;
    std::vector<Preemption> preempted;
    std::vector<Finish> finished;
    std::vector<CopyKind> copies;
    std::vector<Slice> slices;
    std::uint32_t decodes = 0;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  /// Requires: the request is valid.
  SeqId submit(const Request& request) {
    const SeqId seq{next_seq_++};
    State& s = all_[seq];
    s.request = request;
    s.tokens = request.prompt;
    s.uses_cache = config_.prefix_cache != PrefixCacheKind::none &&
                   request.prefix_cache != PrefixCacheUse::disable;
    if (request.deadline_steps > 0) deadlines_.insert({step_ + request.deadline_steps, seq});
    queue_.submit(seq, request);
    if (request.session) ++sessions_[*request.session].active;
    return seq;
  }

  void finish(SeqId seq, FinishReason reason) {
    if (!all_.contains(seq) || all_[seq].reason != FinishReason::none) return;
    all_[seq].reason = reason;
    finishing_.push_back(seq);
    queue_.stop_waiting(seq);
  }

  bool release_session(SessionId id) {
    if (!sessions_.contains(id)) return false;
    for (const SeqId seq : finishing_) {
      std::optional<SessionId>& own = all_.at(seq).request.session;
      if (own != id) continue;
      --sessions_[id].active;
      own.reset();
    }
    end_session(id);
    return true;
  }

  void clear_prefix_cache() {
    while (const auto session = sessions_.first_to_end()) end_session(*session);
    cache_.clear_index();
  }

  const Plan& schedule() {
    plan_ = {};
    expire();
    retire();
    budget_ = config_.batch.max_batch_tokens;
    make_room();
    plan_decodes();
    limit_prompts();
    plan_prefills();
    if (plan_.preempted.empty()) admit();
    ++step_;
    return plan_;
  }

  void commit(const StepResult& result) {
    if (result.kv_lost) return lose_kv();
    bool failed = true;
    for (const SliceResult& slice : result.slices) failed &= slice.signal == FinishSignal::error;
    for (const Preemption& preemption : plan_.preempted) {
      if (failed && all_.contains(preemption.seq)) drop_kv(all_[preemption.seq]);
    }
    for (std::size_t i = 0; i < plan_.slices.size(); ++i) {
      commit_slice(plan_.slices[i], result.slices[i], result);
    }
  }

  bool has_work() const { return !all_.empty(); }
  const ModelCache& cache() const { return cache_; }
  std::uint32_t host_used() const { return host_used_; }
  const std::vector<SeqId>& running() const { return running_; }
  /// All that wait, next one first.
  std::vector<SeqId> waiting() const { return queue_.in_order(); }
  /// How many later ones of its user were first admitted while `seq` waited.
  std::uint32_t overtaken(SeqId seq) const { return queue_.overtaken(seq); }

 private:
  struct State {
    Request request;
    std::vector<TokenId> tokens;  // prompt and output
    std::uint32_t computed = 0;
    std::uint32_t drafts = 0;
    ModelDrafts last_drafts;
    std::uint32_t host_blocks = 0;
    bool uses_cache = false;
    bool decoding = false;
    bool admitted = false;
    bool swapped = false;
    FinishReason reason = FinishReason::none;

    std::uint32_t length() const { return static_cast<std::uint32_t>(tokens.size()); }
    std::uint32_t output() const {
      return static_cast<std::uint32_t>(tokens.size() - request.prompt.size());
    }
  };

  // 1. Expire.
  void expire() {
    while (!deadlines_.empty() && deadlines_.begin()->first <= step_) {
      finish(deadlines_.begin()->second, FinishReason::deadline);
      deadlines_.erase(deadlines_.begin());
    }
    while (const auto idle = sessions_.longest_idle()) {
      if (step_ - sessions_[*idle].idle_since < config_.session_idle_steps) break;
      end_session(*idle);
    }
  }

  // 2. Retire.
  void retire() {
    for (const SeqId seq : finishing_) {
      const State& s = all_[seq];
      plan_.finished.push_back({seq, s.reason});
      if (s.request.session) end_turn(*s.request.session, seq);
      if (cache_.contains(seq)) cache_.free(seq);
      host_used_ -= s.host_blocks;
      std::erase(running_, seq);
      all_.erase(seq);
      queue_.retire(seq);
    }
    finishing_.clear();
  }

  // 3. Decode.
  void make_room() {
    std::uint32_t left = config_.batch.max_batch_tokens;
    for (const SeqId seq : running_) left -= all_[seq].decoding;
    for (const SeqId seq : running_) {
      State& s = all_[seq];
      s.drafts = std::min(s.drafts, left);
      left -= s.drafts;
    }
    if (blocks_to_decode() > cache_.available()) {
      for (const SeqId seq : running_) all_[seq].drafts = 0;
    }
    while (blocks_to_decode() > cache_.available()) {
      running_.size() > 1 ? preempt(victim()) : end_session(sessions_.first_to_end().value());
    }
  }
  std::uint32_t blocks_to_decode() const {
    std::uint32_t blocks = 0;
    for (const SeqId seq : running_) {
      const State& s = all_.at(seq);
      if (s.decoding) blocks += cache_.missing(seq, s.length() + s.drafts);
    }
    return blocks;
  }
  SeqId victim() const {
    return *std::ranges::min_element(running_, {}, [&](SeqId seq) {
      const State& s = all_.at(seq);
      return std::tuple(s.request.priority, s.output(), ~seq.value);
    });
  }
  void preempt(SeqId seq) {
    State& s = all_[seq];
    const std::uint32_t blocks = cache_.blocks_for(s.computed);
    const bool swap =
        prefers_swap(s.computed, blocks) && blocks <= config_.cache.num_host_blocks - host_used_;
    plan_.preempted.push_back({seq, swap ? PreemptionMode::swap : PreemptionMode::recompute});
    s.drafts = 0;
    if (swap) {
      s.swapped = true;
      s.host_blocks = blocks;
      host_used_ += blocks;
      plan_.copies.insert(plan_.copies.end(), blocks, CopyKind::swap_out);
    } else {
      drop_kv(s);
    }
    cache_.free(seq);
    std::erase(running_, seq);
    queue_.wait(seq);
  }
  bool prefers_swap(std::uint64_t tokens, std::uint64_t blocks) const {
    if (tokens == 0) return false;
    if (config_.preemption != PreemptionPolicy::automatic) {
      return config_.preemption == PreemptionPolicy::swap;
    }
    return config_.swap_setup_cost + blocks * config_.swap_block_cost < tokens;
  }
  void drop_kv(State& s) {
    s.computed = 0;
    s.decoding = false;
    s.swapped = false;
    host_used_ -= std::exchange(s.host_blocks, 0);
  }
  void plan_decodes() {
    for (const SeqId seq : running_) {
      const State& s = all_[seq];
      if (!s.decoding) continue;
      cache_.resize(seq, s.length() + s.drafts);
      plan_.slices.push_back({seq, s.computed, 1 + s.drafts, s.drafts, true});
      budget_ -= 1 + s.drafts;
      queue_.run(seq, s.computed + 1);
      ++plan_.decodes;
    }
  }
  void limit_prompts() {
    if (plan_.decodes == 0) return;
    const std::uint64_t all = config_.batch.max_batch_tokens;
    const std::uint64_t theirs =
        std::max<std::uint64_t>(1, all * (100 - config_.decode_priority) / 100);
    budget_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(budget_, theirs));
  }

  // 4. Prefill.
  void plan_prefills() {
    for (const SeqId seq : running_) {
      if (!all_[seq].decoding) plan_chunk(seq);
    }
  }
  void plan_chunk(SeqId seq) {
    const State& s = all_[seq];
    const std::uint32_t rest = s.length() - s.computed;
    const std::uint32_t count = std::min({rest, config_.prefill_chunk_size, budget_});
    if (count == 0) return;
    plan_.slices.push_back({seq, s.computed, count, 0, count == rest});
    budget_ -= count;
    queue_.run(seq, s.computed + count);
  }

  // 5. Admit.
  void admit() {
    while (running_.size() < config_.batch.max_batch_size && budget_ > 0) {
      const std::vector<SeqId> waiting = queue_.in_order();
      if (waiting.empty()) break;
      const SeqId seq = waiting.front();
      State& s = all_[seq];
      const auto match = match_that_fits(s);
      if (!match) break;
      cache_.add(seq, *match, s.length());
      if (s.swapped) {
        plan_.copies.insert(plan_.copies.end(), s.host_blocks, CopyKind::swap_in);
        host_used_ -= std::exchange(s.host_blocks, 0);
        s.swapped = false;
      } else {
        s.computed = match->tokens;
      }
      if (match->copied) plan_.copies.push_back(CopyKind::within);
      (s.admitted ? plan_.resumed : plan_.admitted).push_back({seq, s.computed});
      queue_.admit(seq);
      if (!std::exchange(s.admitted, true)) queue_.needs_not_run(seq, s.computed);
      running_.push_back(seq);
      // A sequence that comes back from the host counts as a decode from the next step on.
      const bool decoding = std::exchange(s.decoding, false);
      plan_chunk(seq);
      s.decoding = decoding;
    }
  }
  std::optional<ModelCache::Match> match_that_fits(const State& s) {
    ModelCache::Match match = match_of(s);
    if (!fits(cache_.needed(match, s.length()))) match = cache_.without_copy(match);
    while (!fits(cache_.needed(match, s.length()))) {
      if (!running_.empty()) return std::nullopt;
      end_session(sessions_.first_to_end().value());
      match = cache_.without_copy(match_of(s));
    }
    return match;
  }
  ModelCache::Match match_of(const State& s) const {
    if (!s.uses_cache || s.swapped) return {};
    return cache_.match({s.request.cache_salt, s.tokens});
  }
  bool fits(std::uint64_t blocks) const {
    return blocks + (running_.empty() ? 0 : kept_free()) <= cache_.available();
  }
  std::uint32_t kept_free() const {
    const std::uint64_t blocks = config_.cache.num_blocks;
    const std::uint64_t usable = blocks * config_.memory_pressure / 100;
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(config_.watermark_blocks, blocks - usable));
  }

  // commit
  void lose_kv() {
    clear_prefix_cache();
    for (auto& [seq, s] : all_) {
      if (cache_.contains(seq)) cache_.free(seq);
      s.drafts = 0;
      drop_kv(s);
    }
    for (const SeqId seq : running_) {
      if (all_[seq].reason == FinishReason::none) queue_.wait(seq);
    }
    running_.clear();
  }
  void commit_slice(const Slice& slice, const SliceResult& answer, const StepResult& result) {
    State& s = all_[slice.seq];
    if (has_failed(answer.signal)) return finish(slice.seq, FinishReason::error);
    const std::uint32_t before = s.computed;
    s.computed = slice.first + slice.count;
    if (slice.samples) {
      const auto tokens = result.tokens_of(answer);
      s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
      s.computed = s.length() - 1;
      s.decoding = true;
      cache_.resize(slice.seq, s.computed);
    }
    const bool fills_a_block =
        before / config_.cache.block_size < s.computed / config_.cache.block_size;
    if (s.uses_cache && fills_a_block) {
      cache_.publish(slice.seq, {s.request.cache_salt, s.tokens}, s.computed);
    }
    s.drafts = 0;
    if (!slice.samples) return;
    if (answer.signal == FinishSignal::eos) {
      finish(slice.seq, FinishReason::eos);
    } else if (s.output() == s.request.max_new_tokens) {
      finish(slice.seq, FinishReason::length);
    } else {
      s.drafts = std::min(
          {answer.drafts, s.last_drafts.length_after(slice.drafts, answer.token_count - 1, config_),
           s.request.max_new_tokens - s.output() - 1});
    }
  }

  // Sessions
  void end_turn(SessionId id, SeqId seq) {
    ModelSession& session = sessions_[id];
    const FinishReason reason = all_[seq].reason;
    const bool complete = reason == FinishReason::eos || reason == FinishReason::length ||
                          reason == FinishReason::stop;
    if (complete) {
      const auto before = std::exchange(session.pins, cache_.pin(seq));
      cache_.unpin(before);
    }
    --session.active;
    session.idle_since = step_;
  }
  void end_session(SessionId id) {
    cache_.unpin(std::exchange(sessions_[id].pins, {}));
    if (sessions_[id].active == 0) sessions_.erase(id);
  }

  SchedulerConfig config_;
  ModelCache cache_;
  std::uint64_t step_ = 0;
  std::uint64_t next_seq_ = 1;
  std::uint32_t budget_ = 0;
  Plan plan_;
  std::map<SeqId, State> all_;
  ModelQueue queue_;
  std::set<std::pair<std::uint64_t, SeqId>> deadlines_;  // by step
  std::vector<SeqId> running_;                           // in order of admission
  std::vector<SeqId> finishing_;                         // in the order in which they ended
  ModelSessions sessions_;
  std::uint32_t host_used_ = 0;
};

}  // namespace forge::testing
