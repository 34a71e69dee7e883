// NgramIndex: where a text has been before. It finds the longest end of a text that stands in it
// earlier, too, and so what may follow now: what followed then.
//
//   text     a b c d e a b x a b c d    its end, a b c d, was there before,
//   next()           |                  and e, a, ... followed
//
// Runs of kShortest tokens are in chains by their hash, the latest first, as LZ77 compressors have
// them (RFC 1951, section 4). Of at most kTries of a chain the longest match counts, of equal ones
// the latest. So a lookup costs a constant number of steps, and a token that is taken in does too.
//
// Source: Saxena, "Prompt Lookup Decoding", 2023,
// https://github.com/apoorvumang/prompt-lookup-decoding.
//
// Owns 4 bytes a token and 4 KiB, from the first token on. Thread contract: a value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forge/core/ids.h"

namespace forge::executor {

class NgramIndex {
 public:
  static constexpr std::uint32_t kShortest = 4;  ///< tokens of a match
  static constexpr std::uint32_t kLongest = 32;  ///< longer ones count as this long
  static constexpr std::uint32_t kTries = 16;

  /// Forgets the text, and keeps the memory.
  void clear();

  /// Takes in the tokens of `text` that it does not have yet, and looks up the end of it.
  /// Requires: `text` begins with the text of the call before.
  void extend(std::span<const TokenId> text);

  /// The index of the token that followed the match; nothing if no end of the text was there
  /// before.
  std::optional<std::uint32_t> next() const { return next_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t& head_of(std::span<const TokenId> text, std::uint32_t end);

  std::vector<std::uint32_t> heads_;   // [hash] the last end of a run, or kNone; empty: no text
  std::vector<std::uint32_t> before_;  // [tokens] the end of a run of equal hash before this one
  std::optional<std::uint32_t> next_;
};

}  // namespace forge::executor
