#include "forge/core/policy.h"

#include <algorithm>
#include <tuple>

namespace forge {
namespace {

constexpr std::uint32_t kFirstDrafts = 4;
constexpr std::uint32_t kMostDrafts = 8;
constexpr std::uint32_t kDraftsOnTrial = 8;

/// Below break-even, and it would be if the rest of a history's first drafts were all kept.
bool cannot_pay(const DraftHistory& history, std::uint32_t break_even) {
  const std::uint32_t judged = std::max(history.judged(), kDraftsOnTrial);
  const std::uint32_t kept = history.kept() + (judged - history.judged());
  return kept * 100 < judged * break_even;
}

std::uint64_t levels_below_high(Priority priority) {
  return static_cast<std::uint64_t>(Priority::high) - static_cast<std::uint64_t>(priority);
}

}  // namespace

AdmissionKey admission_key(const SequenceView& view, const SchedulerConfig& config) {
  return {view.seq.value + config.priority_head_start * levels_below_high(view.priority), view.seq};
}

std::uint64_t overtakers_max(Priority priority, const SchedulerConfig& config) {
  const std::uint64_t places = config.priority_head_start * levels_below_high(priority);
  return places > 0 ? places - 1 : 0;
}

std::uint64_t served_by(std::uint32_t tokens, std::uint32_t weight) {
  return std::uint64_t{tokens} * Request::kWeight.highest / weight;
}

bool has_turn_before(const Candidate& a, const Candidate& b) {
  if (a.resumes != b.resumes) return a.resumes;
  if (a.resumes) return a.key < b.key;
  return std::tie(a.client, a.user, a.key) < std::tie(b.client, b.user, b.key);
}

std::uint32_t blocks_kept_free(std::size_t running, const SchedulerConfig& config) {
  if (running == 0) return 0;
  const std::uint64_t usable =
      std::uint64_t{config.cache.num_blocks} * config.memory_pressure / 100;
  return std::max(config.watermark_blocks,
                  config.cache.num_blocks - static_cast<std::uint32_t>(usable));
}

std::uint32_t prompt_budget(std::size_t decoding, const SchedulerConfig& config) {
  if (decoding == 0) return config.batch.max_batch_tokens;
  const std::uint64_t left =
      std::uint64_t{config.batch.max_batch_tokens} * (100 - config.decode_priority) / 100;
  return std::max(static_cast<std::uint32_t>(left), 1U);
}

std::uint32_t prompt_chunk(const SequenceView& view, std::uint32_t budget,
                           const SchedulerConfig& config) {
  return std::min({view.length() - view.computed_tokens, config.prefill_chunk_size, budget});
}

std::uint32_t drafts_wanted(std::uint32_t offered, const DraftHistory& history,
                            const SchedulerConfig& config) {
  if (config.draft_lengths == DraftLengths::fixed) return offered;
  const std::uint32_t judged = history.judged();
  const std::uint32_t kept = history.kept();
  std::uint32_t length = judged == 0 ? kFirstDrafts : kMostDrafts;
  if (cannot_pay(history, config.draft_break_even)) {
    length = history.silence() == DraftHistory::kLongSilence ? 1 : 0;
  } else if (kept < judged) {
    const std::uint32_t bad = judged - kept;
    length = std::min((judged + bad - 1) / bad, kMostDrafts);
  }
  return std::min(offered, length);
}

std::uint32_t drafts_kept(std::uint32_t wanted, const DraftRoom& room) {
  return room.blocks_are_short ? 0 : std::min(wanted, room.tokens);
}

bool is_better_victim(const SequenceView& a, const SequenceView& b) {
  return std::tie(a.priority, a.output_tokens, b.seq) <
         std::tie(b.priority, b.output_tokens, a.seq);
}

PreemptionMode preemption_mode(const SequenceView& victim, const SchedulerConfig& config) {
  if (config.preemption == PreemptionPolicy::recompute) return PreemptionMode::recompute;
  if (config.preemption == PreemptionPolicy::swap) return PreemptionMode::swap;
  const std::uint64_t tokens = victim.computed_tokens;
  const std::uint64_t blocks = (tokens + config.cache.block_size - 1) / config.cache.block_size;
  const std::uint64_t cost = config.swap_setup_cost + config.swap_block_cost * blocks;
  return cost < tokens ? PreemptionMode::swap : PreemptionMode::recompute;
}

bool sessions_give_way(std::size_t others) { return others == 0; }

bool gives_way_before(const SessionView& a, const SessionView& b) {
  if (a.active != b.active) return b.active;
  if (!a.active && a.idle_since != b.idle_since) return a.idle_since < b.idle_since;
  return a.session < b.session;
}

}  // namespace forge
