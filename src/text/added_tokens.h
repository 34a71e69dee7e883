// AddedTokens: the tokens that are found in a text as they are spelt, before anything else is done
// to it: control tokens, and words that were added to a vocabulary after its training.
//
//   "<|user|>Hi<|end|>"  -->  [<|user|>] "Hi" [<|end|>]
//
// They are found from left to right, the longest at each place, as Hugging Face's `tokenizers`
// does. A token can swallow the white space before it or after it.
//
// A trie of bytes. O(n L) for n bytes of text and spellings of up to L, in practice O(n): few
// places look like the beginning of a spelling. Thread contract: const, any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "forge/core/ids.h"

namespace forge::text::detail {

struct AddedToken {
  TokenId token;
  bool control = false;
  bool takes_space_before = false;
  bool takes_space_after = false;
};

/// A part of a text: a token, or else text.
struct TextPart {
  std::string_view text;
  std::optional<TokenId> token;
};

class AddedTokens {
 public:
  AddedTokens();

  /// Returns: whether there is no token of that spelling yet. Requires: it is not empty.
  bool add(std::string_view spelling, const AddedToken& token);

  /// Whether a token swallows white space, any number of bytes of it.
  bool take_space() const { return take_space_; }

  /// Bytes of the longest spelling that `text` begins with; 0: with none.
  std::size_t longest(std::string_view text) const { return longest_at(text, true).bytes; }

  /// The parts of `text`; those of text are not empty and borrow from it. Requires: valid UTF-8.
  std::vector<TextPart> split(std::string_view text, bool control_tokens) const;

 private:
  struct Node {
    char byte = 0;
    std::uint32_t first_child = 0;  // 0: none
    std::uint32_t sibling = 0;
    std::optional<AddedToken> token;
  };
  struct Found {
    const AddedToken* token = nullptr;
    std::size_t bytes = 0;
  };

  std::uint32_t child(std::uint32_t node, char byte) const;
  Found longest_at(std::string_view text, bool control_tokens) const;

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> first_ = {};  // nodes of first bytes
  bool take_space_ = false;
};

}  // namespace forge::text::detail
