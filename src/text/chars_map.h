// CharsMap: the table by which SentencePiece rewrites characters, "precompiled_charsmap".
//
//   bytes 0 .. 3    n, the size of the table in bytes, lowest byte first
//   n bytes         a trie of what is replaced, as a double array of 32-bit units
//   the rest        what replaces it: texts, each with a zero byte after it
//
// The trie is a double array (Aoe 1989) as Darts-clone packs it: from a node, the unit at
// offset XOR byte is the next node if its label is that byte, and, if the node ends a key, the unit
// at the offset has the place of the replacement. Sources: https://github.com/google/sentencepiece,
// src/normalizer.cc; https://github.com/s-yata/darts-clone.
//
// The table is a stranger's: each step stays within it, or what is asked for is not found.
//
// Owns its bytes. Thread contract: const, any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace forge::text::detail {

class CharsMap {
 public:
  /// Errors: a sentence; the table does not fit into the bytes, or its last text has no end.
  static tl::expected<CharsMap, std::string> parse(std::string_view bytes);

  struct Replacement {
    std::size_t bytes = 0;  ///< of the text that it replaces; 0: nothing is replaced
    std::string_view text;
  };
  /// Of the longest beginning of `text` that the table has.
  Replacement find(std::string_view text) const;

 private:
  CharsMap() = default;

  /// 0, which is no node of a key, beyond the end.
  std::uint32_t unit(std::uint32_t at) const { return at < units_.size() ? units_[at] : 0; }

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace forge::text::detail
