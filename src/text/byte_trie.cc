#include "byte_trie.h"

#include <algorithm>

namespace forge::text::detail {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::uint32_t>> spellings) {
  std::stable_sort(spellings.begin(), spellings.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // The spellings below each node are a row of them; rows[i] is of node i.
  struct Row {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;
  };
  std::vector<Row> rows = {{0, spellings.size(), 0}};
  bytes_.push_back(0);
  for (std::size_t node = 0; node < rows.size(); ++node) {
    auto [at, end, depth] = rows[node];
    children_.push_back(static_cast<Node>(rows.size()));
    values_.push_back(kNone);
    while (at < end && spellings[at].first.size() == depth) {
      if (values_[node] == kNone) values_[node] = spellings[at].second;
      ++at;
    }
    while (at < end) {
      const char byte = spellings[at].first[depth];
      std::size_t next = at;
      while (next < end && spellings[next].first[depth] == byte) ++next;
      if (depth == 0) first_[static_cast<unsigned char>(byte)] = static_cast<Node>(rows.size());
      bytes_.push_back(static_cast<unsigned char>(byte));
      rows.push_back({at, next, depth + 1});
      at = next;
    }
  }
  children_.push_back(static_cast<Node>(rows.size()));
}

}  // namespace forge::text::detail
