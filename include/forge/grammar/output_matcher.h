// OutputMatcher: how far the output of one sequence has come in its OutputGrammar, and which tokens
// may follow.
//
// Example, given `#include <vector>`, `const OutputCompiler::Compiled& output`, and
// `std::uint32_t (*sample)(std::span<const std::uint32_t> mask)`:
//
//   OutputMatcher matcher(output);
//   std::vector<std::uint32_t> mask(matcher.mask_words());
//   if (const auto filled = matcher.fill_mask(mask); !filled) return filled;
//   return matcher.accept_token(sample(mask));
//
// Where all of the output is bound, it is a Matcher (matcher.h), but for its end: once nothing but
// white space may follow, only a token that ends the text may. Where a mark opens what is bound,
// there is a Matcher from the mark to the end of the part; before and after it any token may
// follow, but for those that would complete the mark and go on with what the grammar refuses. A
// token that ends a part has nothing behind it but white space.
//
//   after "<call>"       I look it up. <call>{"city": "Bern"}</call> One moment. <ca
//   is_free()            yes                 | no                   | yes
//   bytes of the mark    0           0 1 2 ..                        0          1 2 3
//
// A copy is a bookmark, as that of a Matcher is.
//
// Thread contract: none of its own; copies are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "forge/grammar/matcher.h"
#include "forge/grammar/output_compiler.h"

namespace forge::grammar {

class OutputMatcher {
 public:
  explicit OutputMatcher(OutputCompiler::Compiled output);

  std::size_t mask_words() const { return output_->vocabulary->mask_words(); }

  /// Whether any token at all may follow, so that nobody needs a mask.
  bool is_free() const;

  /// Sets the bits of the tokens that may come next and clears all others; where the text is free,
  /// tokens that stand for no text may come, too. Requires: mask has mask_words(). Errors:
  /// no_token, limit.
  Matched fill_mask(std::span<std::uint32_t> mask) const;

  /// The output has grown by a token. Errors: refused; then nothing has changed. limit; then every
  /// fill_mask() is the same error, for it is not known what may follow.
  Matched accept_token(std::uint32_t token);

 private:
  friend class OutputCompiler;
  /// Where `output` is free, and ends with so many bytes of the mark.
  OutputMatcher(OutputCompiler::Compiled output, std::size_t mark_bytes)
      : output_(std::move(output)), mark_bytes_(mark_bytes) {}

  /// All is bound, and nothing is missing.
  bool is_over() const;
  Matched accept_free(std::string_view bytes);
  void end_part();

  OutputCompiler::Compiled output_;
  std::optional<Matcher> part_;  ///< of what is bound
  std::size_t mark_bytes_ = 0;   ///< of the mark, at the end of what is free
  std::optional<MatchError> failure_;
};

}  // namespace forge::grammar
