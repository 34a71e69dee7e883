#include "merges.h"

#include <limits>
#include <queue>
#include <tuple>

namespace forge::text::detail {
namespace {

using Symbols = std::vector<std::uint32_t>;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Two neighbours that could be merged, as they were when they became neighbours.
struct Candidate {
  std::uint32_t rank = 0;
  std::uint32_t at = 0;  // of the left one
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t merged = 0;
};

struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return std::tie(a.rank, a.at) > std::tie(b.rank, b.at);
  }
};

/// The symbols as a list, in which a merged one takes the place of its left half.
class SymbolList {
 public:
  explicit SymbolList(Symbols& symbols) : symbols_(symbols), links_(symbols.size()) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const auto at = static_cast<std::uint32_t>(i);
      links_[i] = {i == 0 ? kNone : at - 1, i + 1 == symbols.size() ? kNone : at + 1};
    }
  }

  std::uint32_t before(std::uint32_t at) const { return links_[at].before; }
  std::uint32_t after(std::uint32_t at) const { return links_[at].after; }

  /// Are the two still neighbours? What has been merged away is kNone.
  bool holds(const Candidate& pair) const {
    return symbols_[pair.at] == pair.left && after(pair.at) != kNone &&
           symbols_[after(pair.at)] == pair.right;
  }

  void merge(const Candidate& pair) {
    const std::uint32_t gone = after(pair.at);
    symbols_[pair.at] = pair.merged;
    symbols_[gone] = kNone;
    links_[pair.at].after = after(gone);
    if (after(gone) != kNone) links_[after(gone)].before = pair.at;
  }

 private:
  struct Links {
    std::uint32_t before;
    std::uint32_t after;
  };
  Symbols& symbols_;
  std::vector<Links> links_;
};

}  // namespace

void Merges::apply(Symbols& symbols) const {
  if (symbols.size() <= kSearchedMax) {
    apply_by_search(symbols);
  } else {
    apply_by_heap(symbols);
  }
}

void Merges::apply_by_search(Symbols& symbols) const {
  constexpr Merge kNoMerge{kNone, 0};
  const auto merge_at = [&](std::size_t i) {
    const Merge* merge = find(symbols[i], symbols[i + 1]);
    return merge == nullptr ? kNoMerge : *merge;
  };
  std::vector<Merge> merges;  // of each symbol with the next
  merges.reserve(symbols.size());
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) merges.push_back(merge_at(i));
  while (!merges.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < merges.size(); ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNone) return;
    symbols[best] = merges[best].merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    merges.erase(merges.begin() + static_cast<std::ptrdiff_t>(best));
    if (best > 0) merges[best - 1] = merge_at(best - 1);
    if (best < merges.size()) merges[best] = merge_at(best);
  }
}

void Merges::apply_by_heap(Symbols& symbols) const {
  SymbolList list(symbols);
  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> candidates;
  const auto consider = [&](std::uint32_t at) {
    const std::uint32_t next = list.after(at);
    if (next == kNone) return;
    if (const Merge* merge = find(symbols[at], symbols[next])) {
      candidates.push({merge->rank, at, symbols[at], symbols[next], merge->merged});
    }
  };
  for (std::uint32_t at = 0; at < symbols.size(); ++at) consider(at);
  while (!candidates.empty()) {
    const Candidate pair = candidates.top();
    candidates.pop();
    if (!list.holds(pair)) continue;
    list.merge(pair);
    if (list.before(pair.at) != kNone) consider(list.before(pair.at));
    consider(pair.at);
  }
  std::erase(symbols, kNone);
}

}  // namespace forge::text::detail
