#include "forge/core/notation.h"

namespace forge {
namespace {

std::string word_of(const Slice& slice) {
  std::string text = std::to_string(slice.seq.value) + ':' + std::to_string(slice.first) + '+' +
                     std::to_string(slice.count);
  if (slice.drafts > 0) text += '/' + std::to_string(slice.drafts);
  return text;
}

std::string word_of(const BlockCopy& copy) {
  const std::string from = std::to_string(copy.from.value);
  const std::string to = std::to_string(copy.to.value);
  switch (copy.kind) {
    case CopyKind::within:
      return '[' + from + '>' + to + ']';
    case CopyKind::swap_out:
      return '[' + from + ">h" + to + ']';
    case CopyKind::swap_in:
      return "[h" + from + '>' + to + ']';
  }
  return {};
}

void append(std::string& text, const PlanWords& words, const char* sign = "") {
  for (const std::string& word : words) text.append(" ").append(sign).append(word);
}

}  // namespace

PlanWords admission_words(const std::vector<Admission>& admissions) {
  PlanWords words;
  for (const Admission& a : admissions) {
    words.push_back(std::to_string(a.seq.value) +
                    (a.cached_tokens > 0 ? '@' + std::to_string(a.cached_tokens) : std::string()));
  }
  return words;
}

PlanWords preemption_words(const StepPlan& plan) {
  PlanWords words;
  for (const Preemption& p : plan.preempted) {
    words.push_back(std::to_string(p.seq.value) + (p.mode == PreemptionMode::swap ? "~" : ""));
  }
  return words;
}

PlanWords copy_words(const StepPlan& plan) {
  PlanWords words;
  for (const BlockCopy& copy : plan.copies) words.push_back(word_of(copy));
  return words;
}

PlanWords table_words(const StepPlan& plan) {
  PlanWords words;
  for (const TableDelta& delta : plan.tables) {
    std::string word = std::to_string(delta.seq.value) + ':' + std::to_string(delta.truncated_to);
    char separator = '+';
    for (const BlockId block : plan.appended(delta)) {
      word += separator + std::to_string(block.value);
      separator = ',';
    }
    words.push_back(word);
  }
  return words;
}

PlanWords slice_words(const StepPlan& plan) {
  PlanWords words;
  for (const Slice& slice : plan.decode_batch()) words.push_back(word_of(slice));
  for (const Slice& slice : plan.prefill_batch()) {
    words.push_back(word_of(slice) + (slice.samples ? "*" : ">"));
  }
  return words;
}

std::string plan_row(const StepPlan& plan) {
  std::string text = std::to_string(plan.step.value) + " |";
  for (const Finish& finish : plan.finished) text += " !" + std::to_string(finish.seq.value);
  append(text, preemption_words(plan), "-");
  append(text, admission_words(plan.resumed), "^");
  append(text, admission_words(plan.admitted), "+");
  text += " |";
  append(text, copy_words(plan));
  if (!plan.copies.empty()) text += " |";
  append(text, table_words(plan));
  text += " |";
  append(text, slice_words(plan));
  return text;
}

}  // namespace forge
