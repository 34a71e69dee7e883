// The models of pieces, from what a file says of them (description.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>

#include "description.h"
#include "piece_model.h"

namespace forge::text::detail {

/// The tokens of a description by their spellings. Borrows the description.
class SpellingIndex {
 public:
  /// Errors: two tokens have the same spelling.
  static tl::expected<SpellingIndex, std::string> of(const TokenizerDescription& description);

  std::optional<std::uint32_t> find(std::string_view spelling) const {
    const auto found = ids_.find(spelling);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

/// A token that a model of pieces may make.
inline bool is_word(const TokenEntry& token) {
  return token.role == TokenEntry::Role::normal || token.role == TokenEntry::Role::added;
}

/// The token "<0x0A>" of each byte that has one.
std::optional<std::uint32_t> byte_token(unsigned char byte, const SpellingIndex& index);

struct BuiltModel {
  std::unique_ptr<const PieceModel> model;
  /// Some characters are the unknown token.
  bool has_unknown_characters = false;
  /// No token has a space within it, with something else before, and text may be cut there.
  bool spaces_begin_words = false;
};

/// Errors: a sentence about the merge or token that is at fault.
tl::expected<BuiltModel, std::string> build_bpe(const TokenizerDescription& description,
                                                const SpellingIndex& index);
tl::expected<BuiltModel, std::string> build_unigram(const TokenizerDescription& description,
                                                    const SpellingIndex& index);

}  // namespace forge::text::detail
