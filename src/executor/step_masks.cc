#include "forge/executor/step_masks.h"

namespace forge::executor {

void StepMasks::begin(std::uint32_t pick_count) {
  pick_count_ = pick_count;
  places_.clear();
  words_.clear();
}

void StepMasks::add(const grammar::OutputMatcher& output, std::span<const TokenId> drafts,
                    std::uint32_t first_pick) {
  if (places_.empty()) places_.resize(pick_count_);
  mask_words_ = output.mask_words();
  if (!add(output, places_[first_pick]) || drafts.empty()) return;
  grammar::OutputMatcher behind = output;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const grammar::Matched read = behind.accept_token(drafts[i].value);
    if (!read && read.error().kind == grammar::MatchError::Kind::refused) return;
    if (!add(behind, places_[first_pick + i + 1])) return;
  }
}

bool StepMasks::add(const grammar::OutputMatcher& output, Place& place) {
  if (output.is_free()) return true;
  const std::size_t begin = words_.size();
  words_.resize(begin + mask_words_);
  const grammar::Matched filled = output.fill_mask(std::span(words_).subspan(begin));
  if (filled) {
    place.number = static_cast<std::uint32_t>(begin / mask_words_);
    return true;
  }
  words_.resize(begin);
  place.failure = filled.error().kind == grammar::MatchError::Kind::limit
                      ? FinishSignal::grammar_limit
                      : FinishSignal::no_token;
  return false;
}

std::span<const std::uint32_t> StepMasks::mask(std::uint32_t pick) const {
  const auto found = number(pick);
  if (!found) return {};
  return std::span(words_).subspan(*found * mask_words_, mask_words_);
}

std::optional<std::uint32_t> StepMasks::number(std::uint32_t pick) const {
  return places_.empty() ? std::nullopt : places_[pick].number;
}

FinishSignal StepMasks::failure(std::uint32_t pick) const {
  return places_.empty() ? FinishSignal::none : places_[pick].failure;
}

}  // namespace forge::executor
