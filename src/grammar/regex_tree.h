// A regular expression as a tree.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dfa.h"

namespace forge::grammar {

struct RegexNode {
  enum class Kind : std::uint8_t { set, sequence, choice, repeat, begin, end };
  Kind kind = Kind::sequence;
  CharSet set;                     ///< of a set
  std::vector<std::size_t> parts;  ///< of a sequence or a choice; of a repeat one
  std::uint32_t least = 0;         ///< of a repeat
  std::uint32_t most = 0;          ///< kNoLimit: any number
};
inline constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

struct RegexTree {
  std::vector<RegexNode> nodes;
  std::size_t root = 0;
  std::string fault;  ///< what is wrong or not supported; the tree is of use where it is empty
};

RegexTree parse_regex(std::string_view pattern);

}  // namespace forge::grammar
