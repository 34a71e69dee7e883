// DeltaTarget: a target that knows nothing but the plans, and remembers what is in every slot.
//
// It keeps block tables by following the deltas, and for each slot of the KV pools, instead of
// floats, a digest of the tokens that the KV there was computed from: those of the sequence up to
// that position. A slice reads the KV of all tokens before it; each must be that of its own tokens.
// So whatever a plan gets wrong, a block shown before it is written, given away too early, copied
// from the wrong place, is found when it is read, without running a model.
//
// A step that fails leaves the slots that it was to write in an unknown state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forge/core/digest.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/step_plan.h"

namespace forge::testing {

class DeltaTarget {
 public:
  explicit DeltaTarget(const SchedulerConfig& config)
      : block_size_(config.cache.block_size),
        device_(std::size_t{config.cache.num_blocks} * config.cache.block_size),
        host_(std::size_t{config.cache.num_host_blocks} * config.cache.block_size) {}

  void begin(SeqId seq, const Request& request) {
    Sequence& s = sequences_[seq];
    for (const TokenId token : request.prompt) s.add(token);
  }

  /// Does what `plan` says and takes in the tokens of `result`; if all KV is lost, forgets every
  /// slot and every table. Returns: what is wrong with the plan, if anything is.
  std::optional<std::string> execute(const StepPlan& plan, const StepResult& result) {
    const bool failed = std::ranges::all_of(result.slices, [](const SliceResult& answer) {
      return answer.signal == FinishSignal::error;
    });
    for (const Finish& finish : plan.finished) sequences_.erase(finish.seq);
    for (const Preemption& preemption : plan.preempted) sequences_[preemption.seq].table.clear();
    for (const BlockCopy& copy : plan.copies) do_copy(copy, failed);
    for (const TableDelta& delta : plan.tables) {
      std::vector<BlockId>& table = sequences_[delta.seq].table;
      if (delta.truncated_to > table.size()) {
        return "the table of " + name(delta.seq) + " is truncated beyond its end";
      }
      table.resize(delta.truncated_to);
      const auto appended = plan.appended(delta);
      table.insert(table.end(), appended.begin(), appended.end());
    }
    for (const Slice& slice : plan.slices) {
      if (auto wrong = check_slice(slice)) return wrong;
      if (auto wrong = failed ? std::nullopt : check_reads(slice)) return wrong;
    }
    if (result.kv_lost) {
      lose_kv();
      return std::nullopt;
    }
    for (std::size_t i = 0; i < plan.slices.size(); ++i) {
      write(plan.slices[i], result.slices[i], result.tokens_of(result.slices[i]));
    }
    return std::nullopt;
  }

  const std::vector<BlockId>& table(SeqId seq) const { return sequences_.at(seq).table; }
  std::size_t sequences() const { return sequences_.size(); }

 private:
  using Content = std::uint64_t;
  static constexpr Content kUnknown = 0;

  struct Sequence {
    std::vector<Content> prefixes;  // digest of the tokens up to each position
    std::vector<BlockId> table;

    void add(TokenId token) {
      const Content before = prefixes.empty() ? 1 : prefixes.back();
      prefixes.push_back(Digest{}.add(before).add(token).value());
    }
  };

  static std::string name(SeqId seq) { return "sequence " + std::to_string(seq.value); }

  Content& slot(const Sequence& s, std::size_t position) {
    return device_[s.table[position / block_size_].value * block_size_ + position % block_size_];
  }

  void lose_kv() {
    std::ranges::fill(device_, kUnknown);
    std::ranges::fill(host_, kUnknown);
    for (auto& [seq, sequence] : sequences_) sequence.table.clear();
  }

  void do_copy(const BlockCopy& copy, bool failed) {
    const auto& from = copy.kind == CopyKind::swap_in ? host_ : device_;
    auto& to = copy.kind == CopyKind::swap_out ? host_ : device_;
    for (std::size_t i = 0; i < block_size_; ++i) {
      to[copy.to.value * block_size_ + i] =
          failed ? kUnknown : from[copy.from.value * block_size_ + i];
    }
  }

  std::optional<std::string> check_slice(const Slice& slice) {
    const Sequence& s = sequences_[slice.seq];
    if (s.table.size() * block_size_ < slice.first + slice.count) {
      return name(slice.seq) + " has no slots for its slice";
    }
    if (slice.first + slice.count - slice.drafts > s.prefixes.size()) {
      return name(slice.seq) + " runs tokens that it does not have";
    }
    return std::nullopt;
  }

  std::optional<std::string> check_reads(const Slice& slice) {
    const Sequence& s = sequences_[slice.seq];
    for (std::size_t p = 0; p < slice.first; ++p) {
      if (slot(s, p) == s.prefixes[p]) continue;
      return name(slice.seq) + " reads KV at position " + std::to_string(p) + " in block " +
             std::to_string(s.table[p / block_size_].value) +
             (slot(s, p) == kUnknown ? " that was never written" : " that is not its own");
    }
    return std::nullopt;
  }

  void write(const Slice& slice, const SliceResult& answer, std::span<const TokenId> tokens) {
    Sequence& s = sequences_[slice.seq];
    for (const TokenId token : tokens) s.add(token);
    const bool failed = has_failed(answer.signal);
    for (std::size_t p = slice.first; p < slice.first + slice.count; ++p) {
      // What was computed from a rejected draft is nobody's.
      slot(s, p) = failed || p >= s.prefixes.size() ? kUnknown : s.prefixes[p];
    }
    if (slice.drafts == 0 || failed) return;
    // The target's own token has not run yet, even if a rejected draft ran in its place.
    if (s.prefixes.size() - 1 < slice.first + slice.count)
      slot(s, s.prefixes.size() - 1) = kUnknown;
  }

  std::size_t block_size_;
  std::vector<Content> device_;
  std::vector<Content> host_;
  std::map<SeqId, Sequence> sequences_;
};

}  // namespace forge::testing
