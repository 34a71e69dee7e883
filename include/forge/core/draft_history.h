// DraftHistory: what became of the last drafts of one sequence, as far as it decides how many come
// next (drafts_wanted in policy.h).
//
//   drafts   d0    d1    d2    d3       kept 2
//   judged   yes   yes   no    -        two good ones and a bad one; d3 stood behind a wrong token
//                                       and says nothing
//
// A value of twelve bytes; no clock, no fractions. Thread contract: a value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace forge {

class DraftHistory {
 public:
  static constexpr std::uint32_t kWindow = 32;       ///< drafts that are remembered
  static constexpr std::uint32_t kLongSilence = 64;  ///< tokens

  /// A step verified `drafts` drafts of the sequence, kept the first `kept` of them and yielded a
  /// token of its own. Drafts that are kept after a long silence begin a history of their own: the
  /// text is another one by then. Requires: kept <= drafts.
  void add(std::uint32_t drafts, std::uint32_t kept) {
    if (drafts == 0) {
      silence_ = std::min(silence_ + 1, kLongSilence);
      return;
    }
    if (silence_ == kLongSilence && kept > 0) *this = {};
    silence_ = 0;
    for (std::uint32_t i = 0; i < kept; ++i) judge(true);
    if (kept < drafts) judge(false);
  }

  std::uint32_t judged() const { return judged_; }  ///< up to kWindow
  std::uint32_t kept() const { return static_cast<std::uint32_t>(std::popcount(last_)); }
  /// The tokens since the last draft, or since the beginning; counted up to kLongSilence.
  std::uint32_t silence() const { return silence_; }

  /// All of it in one number.
  std::uint64_t word() const {
    return std::uint64_t{last_} << 32 | std::uint64_t{judged_} << 16 | silence_;
  }
  /// The history of this word(); nullopt if no history has it.
  static std::optional<DraftHistory> from_word(std::uint64_t word) {
    DraftHistory history;
    history.last_ = static_cast<std::uint32_t>(word >> 32);
    history.judged_ = static_cast<std::uint32_t>(word >> 16 & 0xffff);
    history.silence_ = static_cast<std::uint32_t>(word & 0xffff);
    const bool is_one = history.judged_ <= kWindow && history.silence_ <= kLongSilence &&
                        std::uint64_t{history.last_} >> history.judged_ == 0;
    return is_one ? std::optional(history) : std::nullopt;
  }

 private:
  void judge(bool kept) {
    last_ = last_ << 1 | (kept ? 1U : 0U);
    judged_ = std::min(judged_ + 1, kWindow);
  }

  std::uint32_t last_ = 0;  // a bit for each draft judged, the last one lowest, 1: kept
  std::uint32_t judged_ = 0;
  std::uint32_t silence_ = 0;
};

}  // namespace forge
