// BpeModel: byte-pair encoding of bytes or of characters.
//
//   " tokens"  --Alphabet-->  symbols  --Merges-->  tokens
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "alphabet.h"
#include "merges.h"
#include "piece_model.h"

namespace forge::text::detail {

/// Finds std::string by std::string_view.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using TokenOfText = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

class BpeModel final : public PieceModel {
 public:
  Alphabet alphabet;
  Merges merges;
  /// A piece that is one of these is that token, and not merged.
  TokenOfText whole_pieces;

  std::unique_ptr<Scratch> make_scratch(std::size_t text_bytes) const override;
  std::optional<unsigned char> append_tokens(std::string_view piece, Scratch& scratch,
                                             std::vector<TokenId>& tokens) const override;
};

}  // namespace forge::text::detail
