// PolicyWorld: the scheduler, a target that knows the plans alone and, if asked for, the plain
// model of the policy, side by side. Every operation goes to all of them, and what they say of it
// is compared. Where scheduler and target disagree, a promise is broken; where the model disagrees,
// it may be another policy (book/changing_the_policy.md).
#pragma once

#include <rapidcheck.h>

#include <optional>
#include <vector>

#include "delta_index.h"
#include "delta_target.h"
#include "forge/core/invariants.h"
#include "forge/core/scheduler.h"
#include "model_scheduler.h"
#include "share_witness.h"

namespace forge::testing {

/// What a scheduler is held to.
enum class Against : std::uint8_t { promises, transcription };

class PolicyWorld {
 public:
  PolicyWorld(const SchedulerConfig& config, Against against)
      : scheduler_(config), target_(config) {
    if (against == Against::transcription) model_.emplace(config);
    RC_LOG() << "blocks " << config.cache.num_blocks << " x " << config.cache.block_size
             << ", host " << config.cache.num_host_blocks << ", batch "
             << config.batch.max_batch_size << ", tokens " << config.batch.max_batch_tokens
             << ", chunk " << config.prefill_chunk_size << ", watermark " << config.watermark_blocks
             << ", head start " << config.priority_head_start << ", preemption "
             << static_cast<int>(config.preemption) << ", swap cost " << config.swap_setup_cost
             << " + " << config.swap_block_cost << ", prefix cache "
             << static_cast<int>(config.prefix_cache) << ", idle " << config.session_idle_steps
             << ", draft lengths " << name_of(config.draft_lengths) << ", break-even "
             << config.draft_break_even << ", pressure " << config.memory_pressure
             << ", decode priority " << config.decode_priority << ", cache max "
             << config.prefix_cache_max << '\n';
  }

  const Scheduler& scheduler() const { return scheduler_; }

  void submit(const Request& request) {
    RC_LOG() << "submit";
    for (const TokenId token : request.prompt) RC_LOG() << ' ' << token.value;
    RC_LOG() << " max_new " << request.max_new_tokens << " priority "
             << static_cast<int>(request.priority) << " cache "
             << static_cast<int>(request.prefix_cache) << " deadline " << request.deadline_steps
             << " session " << request.session.value_or(SessionId{}).value << '\n';
    RC_LOG() << "  client " << request.client.value << " user " << request.user.value << " weight "
             << request.weight << '\n';
    const auto seq = scheduler_.submit(request);
    RC_ASSERT(seq.has_value() == validate(request, scheduler_.config()).has_value());
    if (seq) {
      if (model_) RC_ASSERT(*seq == model_->submit(request));
      target_.begin(*seq, request);
      shares_.submit(*seq, request);
    }
    check();
  }

  void cancel(SeqId seq) {
    RC_LOG() << "cancel " << seq.value << '\n';
    const bool is_live = scheduler_.cancel(seq).has_value();
    if (is_live && model_) model_->finish(seq, FinishReason::cancelled);
    shares_.cancel(seq);
    check();
  }

  void release_session(SessionId session) {
    RC_LOG() << "release session " << session.value << '\n';
    const bool is_known = scheduler_.release_session(session).has_value();
    if (model_) RC_ASSERT(is_known == model_->release_session(session));
    check();
  }

  void clear_prefix_cache() {
    RC_LOG() << "clear\n";
    scheduler_.clear_prefix_cache();
    if (model_) model_->clear_prefix_cache();
    check();
  }

  const StepPlan& schedule() {
    const StepPlan& plan = scheduler_.schedule();
    RC_LOG() << "schedule " << plan.step.value << ":";
    for (const Slice& slice : plan.slices) {
      RC_LOG() << ' ' << slice.seq.value << ':' << slice.first << '+' << slice.count << '/'
               << slice.drafts;
    }
    RC_LOG() << '\n';
    if (model_) compare(plan, model_->schedule());
    count_preemptions(plan);
    if (const auto unfair = shares_.follow(plan)) RC_FAIL(*unfair);
    check();
    return plan;
  }

  void commit(const StepResult& result) {
    RC_LOG() << (result.kv_lost ? "commit, all KV lost" : "commit");
    for (const SliceResult& answer : result.slices) {
      RC_LOG() << ' ' << answer.seq.value << ':' << answer.token_count << " signal "
               << static_cast<int>(answer.signal) << " drafts " << answer.drafts;
    }
    RC_LOG() << '\n';
    const auto wrong = target_.execute(scheduler_.plan(), result);
    if (wrong) RC_FAIL(*wrong);
    if (!result.kv_lost) compare_tables();
    scheduler_.commit(scheduler_.plan(), result);
    if (model_) model_->commit(result);
    if (const auto other = cached_.follow(scheduler_)) RC_FAIL(*other);
    tokens_ += result.tokens.size();
    if (result.kv_lost) lose_kv();
    check();
  }

  void check() const {
    if (const auto violation = check_invariants(scheduler_)) RC_FAIL(*violation);
    if (model_) compare_state();
  }

  /// Nothing is left behind: every block, host block and pin has come back.
  void check_at_rest() {
    RC_ASSERT(!scheduler_.has_work());
    RC_ASSERT(target_.sequences() == 0U);
    const PagedKVCache& cache = scheduler_.cache();
    RC_ASSERT(cache.sequence_count() == 0U);
    RC_ASSERT(scheduler_.host().pool().used_count() == 0U);
    clear_prefix_cache();
    RC_ASSERT(cache.pool().used_count() == 0U);
    RC_ASSERT(scheduler_.sessions().all().empty());
  }

 private:
  static void compare(const StepPlan& plan, const ModelScheduler::Plan& expected) {
    RC_ASSERT(plan.finished == expected.finished);
    RC_ASSERT(plan.preempted == expected.preempted);
    RC_ASSERT(plan.admitted == expected.admitted);
    RC_ASSERT(plan.resumed == expected.resumed);
    RC_ASSERT(plan.slices == expected.slices);
    RC_ASSERT(plan.decodes == expected.decodes);
    std::vector<CopyKind> kinds;
    for (const BlockCopy& copy : plan.copies) kinds.push_back(copy.kind);
    RC_ASSERT(kinds == expected.copies);
  }
  void compare_state() const {
    const PagedKVCache& cache = scheduler_.cache();
    RC_ASSERT(scheduler_.has_work() == model_->has_work());
    RC_ASSERT(cache.available_count() == model_->cache().available());
    RC_ASSERT(cache.pool().free_count() == model_->cache().free_count());
    RC_ASSERT(cache.evictions() == model_->cache().evictions());
    RC_ASSERT((cache.index() ? cache.index()->size() : 0) == model_->cache().cached_count());
    RC_ASSERT(scheduler_.host().pool().used_count() == model_->host_used());
    RC_ASSERT(seqs(scheduler_.running()) == model_->running());
    RC_ASSERT(seqs(scheduler_.waiting()) == model_->waiting());
    for (const SequenceView& view : scheduler_.running()) {
      RC_ASSERT(table_of(view.seq).size() == model_->cache().table_length(view.seq));
    }
    for (const SequenceView& view : scheduler_.waiting()) {
      RC_ASSERT(view.overtaken == model_->overtaken(view.seq));
    }
  }

  static std::vector<SeqId> seqs(const std::vector<SequenceView>& views) {
    std::vector<SeqId> list;
    for (const SequenceView& view : views) list.push_back(view.seq);
    return list;
  }
  std::vector<BlockId> table_of(SeqId seq) const {
    const auto table = scheduler_.cache().block_table(seq).value();
    return {table.begin(), table.end()};
  }

  void compare_tables() const {
    for (const Slice& slice : scheduler_.plan().slices) {
      RC_ASSERT(target_.table(slice.seq) == table_of(slice.seq));
    }
  }

  void lose_kv() {
    shares_.lose_kv();
    ++losses_;
    RC_ASSERT(scheduler_.cache().sequence_count() == 0U);
    RC_ASSERT(scheduler_.cache().pool().used_count() == 0U);
    RC_ASSERT(scheduler_.host().pool().used_count() == 0U);
  }

  /// scheduler.h: at most as many steps preempt as tokens are generated, so taking turns ends.
  void count_preemptions(const StepPlan& plan) {
    if (!plan.preempted.empty()) ++preempting_steps_;
    RC_ASSERT(preempting_steps_ <= tokens_ + losses_);
  }

  Scheduler scheduler_;
  std::optional<ModelScheduler> model_;
  DeltaTarget target_;
  ShareWitness shares_;
  std::uint64_t tokens_ = 0;
  std::uint64_t preempting_steps_ = 0;
  std::uint64_t losses_ = 0;
  DeltaIndex cached_;
};

}  // namespace forge::testing
