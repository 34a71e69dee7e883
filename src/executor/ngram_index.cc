#include "forge/executor/ngram_index.h"

#include <algorithm>

namespace forge::executor {
namespace {

constexpr int kHeadBits = 10;

/// How many tokens before `a` are those before `b`. Requires: a < b.
std::uint32_t match_length(std::span<const TokenId> text, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t most = std::min(a, NgramIndex::kLongest);
  std::uint32_t length = 0;
  while (length < most && text[a - 1 - length] == text[b - 1 - length]) ++length;
  return length;
}

}  // namespace

void NgramIndex::clear() {
  heads_.clear();
  before_.clear();
  next_.reset();
}

/// Of the run that ends before `end`. Multiplicative hashing (Knuth, TAOCP 3, 6.4).
std::uint32_t& NgramIndex::head_of(std::span<const TokenId> text, std::uint32_t end) {
  std::uint32_t hash = 0;
  for (std::uint32_t i = end - kShortest; i < end; ++i) hash = (hash + text[i].value) * 2654435761U;
  return heads_[hash >> (32 - kHeadBits)];
}

void NgramIndex::extend(std::span<const TokenId> text) {
  next_.reset();
  if (heads_.empty()) heads_.assign(std::size_t{1} << kHeadBits, kNone);
  for (auto i = static_cast<std::uint32_t>(before_.size()); i < text.size(); ++i) {
    const std::uint32_t end = i + 1;
    before_.push_back(kNone);
    if (end < kShortest) continue;
    std::uint32_t& head = head_of(text, end);
    before_[i] = head;
    head = end;
  }
  if (text.empty()) return;
  const auto end = static_cast<std::uint32_t>(text.size());
  std::uint32_t longest = kShortest - 1;
  std::uint32_t earlier = before_[end - 1];
  for (std::uint32_t tries = 0; earlier != kNone && tries < kTries; ++tries) {
    const std::uint32_t length = match_length(text, earlier, end);
    if (length > longest) {
      longest = length;
      next_ = earlier;
    }
    earlier = before_[earlier - 1];
  }
}

}  // namespace forge::executor
