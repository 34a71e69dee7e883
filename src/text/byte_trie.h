// ByteTrie: which of many spellings begin a text.
//
//   "in" "int" "is"      root --i--> . --n--> [in] --t--> [int]
//                                     --s--> [is]
//
// Nodes are numbered level by level, so the children of a node are a row, ordered by byte: a node
// is three numbers, and a step is a search in that row. Built once from sorted spellings, in the
// order of their bytes. Thread contract: const, any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace forge::text::detail {

class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  /// Of two equal spellings the first counts. Requires: none is empty, less than 2^31 bytes in all.
  explicit ByteTrie(std::vector<std::pair<std::string_view, std::uint32_t>> spellings);

  /// The node after `byte`, or kRoot if no spelling goes on so.
  Node after(Node node, unsigned char byte) const {
    if (node == kRoot) return first_[byte];
    const unsigned char* const end = bytes_.data() + children_[node + 1];
    const unsigned char* const at = std::lower_bound(bytes_.data() + children_[node], end, byte);
    return at < end && *at == byte ? static_cast<Node>(at - bytes_.data()) : kRoot;
  }

  /// The value of the spelling that ends here.
  std::optional<std::uint32_t> value(Node node) const {
    return values_[node] == kNone ? std::nullopt : std::optional(values_[node]);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<unsigned char> bytes_;  // [node] that leads to it
  std::vector<Node> children_;  // [node] the first; those of the next node begin where they end
  std::vector<std::uint32_t> values_;
  std::array<Node, 256> first_ = {};
};

}  // namespace forge::text::detail
