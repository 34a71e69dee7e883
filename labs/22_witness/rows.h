// Plans out of the rows that plan_row makes of them (forge/core/notation.h): a run of a scheduler
// that is broken is kept as what it planned (runs/*.json).
//
// Why a sequence finished is not in a row. What is no row throws.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "forge/core/step_plan.h"

namespace forge::labs::witness {

/// The characters of one word, from the front.
class Word {
 public:
  explicit Word(const std::string& text) : in_(text) {}

  bool is_over() { return in_.peek() == std::char_traits<char>::eof(); }

  /// Takes the character if it is the next one.
  bool take(char character) {
    const bool is_next = !is_over() && in_.peek() == character;
    if (is_next) in_.get();
    return is_next;
  }
  void must_take(char character) {
    if (!take(character)) throw std::invalid_argument("a row: " + in_.str());
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    if (!(in_ >> value)) throw std::invalid_argument("a row: " + in_.str());
    return value;
  }
  SeqId seq() { return SeqId{number()}; }
  BlockId block() { return BlockId{number()}; }

 private:
  std::istringstream in_;
};

inline void read_queue(Word& word, StepPlan& plan) {
  if (word.take('!')) {
    plan.finished.push_back({word.seq(), FinishReason::none});
  } else if (word.take('-')) {
    const SeqId seq = word.seq();
    plan.preempted.push_back(
        {seq, word.take('~') ? PreemptionMode::swap : PreemptionMode::recompute});
  } else {
    const bool again = word.take('^');
    if (!again) word.must_take('+');
    const SeqId seq = word.seq();
    (again ? plan.resumed : plan.admitted).push_back({seq, word.take('@') ? word.number() : 0});
  }
}

inline void read_copy(Word& word, StepPlan& plan) {
  word.must_take('[');
  const bool from_host = word.take('h');
  const BlockId from = word.block();
  word.must_take('>');
  const bool to_host = word.take('h');
  const BlockId to = word.block();
  word.must_take(']');
  const CopyKind on_device = to_host ? CopyKind::swap_out : CopyKind::within;
  plan.copies.push_back({from_host ? CopyKind::swap_in : on_device, from, to});
}

inline void read_table(Word& word, StepPlan& plan) {
  TableDelta delta{.seq = word.seq()};
  word.must_take(':');
  delta.truncated_to = word.number();
  delta.appended_first = static_cast<std::uint32_t>(plan.appended_blocks.size());
  for (char before = '+'; word.take(before); before = ',') {
    plan.appended_blocks.push_back(word.block());
    ++delta.appended_count;
  }
  plan.tables.push_back(delta);
}

inline void read_slice(Word& word, StepPlan& plan) {
  Slice slice{.seq = word.seq()};
  word.must_take(':');
  slice.first = word.number();
  word.must_take('+');
  slice.count = word.number();
  if (word.take('/')) slice.drafts = word.number();
  const bool goes_on = word.take('>');
  slice.samples = !goes_on;
  if (!goes_on && !word.take('*')) ++plan.decodes;
  plan.slices.push_back(slice);
}

inline StepPlan plan_of(const std::string& row) {
  std::vector<std::string> parts{""};
  for (const char character : row) {
    if (character == '|') {
      parts.emplace_back();
    } else {
      parts.back() += character;
    }
  }
  if (parts.size() != 4 && parts.size() != 5) throw std::invalid_argument("a row: " + row);
  if (parts.size() == 4) parts.insert(parts.begin() + 2, "");
  StepPlan plan{.step = StepId{std::stoull(parts[0])}};
  void (*const readers[])(Word&, StepPlan&) = {read_queue, read_copy, read_table, read_slice};
  for (std::size_t i = 0; i < std::size(readers); ++i) {
    std::istringstream words(parts[i + 1]);
    for (std::string text; words >> text;) {
      Word word(text);
      readers[i](word, plan);
      if (!word.is_over()) throw std::invalid_argument("a row: " + row);
    }
  }
  return plan;
}

}  // namespace forge::labs::witness
