// Matcher: how far one sequence has come in a grammar, and which tokens may follow.
//
// Example, given `#include <vector>`, `const Grammar& grammar`, `const Vocabulary& vocabulary` and
// `std::uint32_t (*sample)(std::span<const std::uint32_t> mask)`:
//
//   Matcher matcher(grammar);
//   std::vector<std::uint32_t> mask(vocabulary.mask_words());
//   while (!matcher.has_ended()) {
//     if (const auto filled = matcher.fill_mask(vocabulary, mask); !filled) return filled;
//     if (const auto read = matcher.accept_token(vocabulary, sample(mask)); !read) return read;
//   }
//   return Matched();
//
// A token is in the mask exactly if the text so far and the token's bytes are a beginning of a
// text of the grammar; a token that ends the text, if it is one. So every text that masks lead to
// is of the grammar or can become so. The mask is a function of grammar, text and vocabulary.
//
// A copy is a bookmark: copy the matcher before a draft is tried, and assign it back where the
// draft is rejected. Copies share what they have read. A sequence that is computed again accepts
// its text again.
//
// Where only a part of an answer is bound, as a tool call in free text is, there is no matcher
// until the text has the mark that opens the part ("<tool_call>"); then a new one accepts what the
// token that ended the mark had after it, and once it is_complete(), the text is free again. If
// that token's tail is refused, it is taken back as a rejected draft is: so tokens that would end
// the mark with such a tail are best left out of the mask before.
//
// Several ways to read the text are followed at once where a schema has alternatives; work is
// bounded by counted steps, and what goes beyond is an error, never an unconstrained text.
//
// Thread contract: none of its own; copies are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/grammar/grammar.h"
#include "forge/grammar/vocabulary.h"

namespace forge::grammar {

struct MatchError {
  enum class Kind : std::uint8_t {
    refused,   ///< the bytes are not of the grammar
    no_token,  ///< no token of the vocabulary fits, and the text may not end
    limit,     ///< more steps, or more ways to read the text, than the limits
  };
  Kind kind = Kind::refused;
  std::size_t accepted = 0;  ///< of accept(): bytes before the one with which it was over
  std::string message;       ///< empty if `refused`: expected() says more
};
using Matched = tl::expected<void, MatchError>;

class Matcher {
 public:
  /// Ways to read a text that are followed at once.
  static constexpr std::size_t kWaysMax = 512;
  /// Steps of one mask: bytes of tokens tried, and so on.
  static constexpr std::uint64_t kMaskStepsMax = 20'000'000;

  explicit Matcher(Grammar grammar);
  Matcher(const Matcher& other);
  Matcher& operator=(const Matcher& other);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  /// Reads `bytes`. Errors: refused, limit. Then the matcher is where the bytes before the one that
  /// does not fit have led, and expected() says what would have fitted.
  Matched accept(std::string_view bytes);

  /// Is the text so far one of the grammar?
  bool can_end() const;
  /// It is, and nothing but white space may follow.
  bool is_complete() const;
  /// A token that ends the text was accepted.
  bool has_ended() const { return has_ended_; }

  /// What may come next, for people: `'"', '}' or white space`.
  std::string expected() const;

  /// Sets the bits of the tokens that may come next and clears all others.
  /// Requires: mask has vocabulary.mask_words(). Errors: no_token, limit.
  Matched fill_mask(const Vocabulary& vocabulary, std::span<std::uint32_t> mask) const;

  /// As fill_mask(), but of these the tokens alone that lead on a short way to an end: eos if the
  /// text may end, otherwise beginnings of closing_text(). With it, a text is over soon: each token
  /// makes the rest shorter. If the vocabulary has none of them, all that fill_mask() has.
  Matched fill_closing_mask(const Vocabulary& vocabulary, std::span<std::uint32_t> mask) const;

  /// A short text with which the text so far is one of the grammar: the first `bytes_max` bytes of
  /// it, or a few more.
  std::string closing_text(std::size_t bytes_max) const;

  /// accept() of the token's bytes, or the end of the text. Errors: refused, limit; then nothing
  /// has changed.
  Matched accept_token(const Vocabulary& vocabulary, std::uint32_t token);

 private:
  struct State;

  Grammar grammar_;
  std::unique_ptr<State> state_;
  bool has_ended_ = false;
};

}  // namespace forge::grammar
