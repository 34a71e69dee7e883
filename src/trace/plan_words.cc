#include "plan_words.h"

#include "forge/trace/trace_json.h"

namespace forge::trace::detail {
Words finish_words(const StepPlan& plan) {
  Words words;
  for (const Finish& f : plan.finished) {
    words.push_back(std::to_string(f.seq.value) + ' ' + std::string(name_of(f.reason)));
  }
  return words;
}

Words copy_words(const StepPlan& plan) {
  Words words;
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  for (const BlockCopy& copy : plan.copies) {
    out += copy.kind == CopyKind::swap_out ? 1 : 0;
    in += copy.kind == CopyKind::swap_in ? 1 : 0;
    if (copy.kind != CopyKind::within) continue;
    words.push_back('[' + std::to_string(copy.from.value) + '>' + std::to_string(copy.to.value) +
                    ']');
  }
  if (out > 0) words.push_back('[' + std::to_string(out) + " out]");
  if (in > 0) words.push_back('[' + std::to_string(in) + " in]");
  return words;
}

Words cache_words(const CacheDelta& delta) {
  Words words;
  if (delta.cleared) words.emplace_back("cleared");
  for (const BlockId block : delta.removed) words.push_back('-' + std::to_string(block.value));
  for (const StoredBlock& stored : delta.stored) {
    words.push_back('+' + std::to_string(stored.block.value) +
                    (stored.parent ? '<' + std::to_string(stored.parent->value) : std::string()));
  }
  return words;
}

Words result_words(const StepResult& result) {
  if (result.kv_lost) return {"all KV is lost"};
  Words words;
  for (const SliceResult& answer : result.slices) {
    std::string word = std::to_string(answer.seq.value);
    char separator = '=';
    for (const TokenId token : result.tokens_of(answer)) {
      word += separator + std::to_string(token.value);
      separator = ',';
    }
    if (answer.signal != FinishSignal::none) word += ' ' + std::string(name_of(answer.signal));
    if (separator == ',' || answer.signal != FinishSignal::none) words.push_back(word);
  }
  return words;
}

std::vector<std::string> wrap(const Words& words, std::size_t width) {
  std::vector<std::string> lines;
  for (std::string word : words) {
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= width) {
      lines.back() += ' ' + word;
      continue;
    }
    for (; word.size() > width; word.erase(0, width)) lines.push_back(word.substr(0, width));
    lines.push_back(word);
  }
  return lines;
}

}  // namespace forge::trace::detail
