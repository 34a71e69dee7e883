// TextStream: the tokens of one request become the text that its client sees.
//
//   token --Tokenizer--> bytes --Utf8Stream--> characters --StopFilter--> text
//
// The pieces, put together, are Tokenizer::decode of all tokens, cut at the first
// stop string. No piece splits a character or shows the beginning of a stop string.
// Tokens may arrive one by one or many in a step: the text is the same.
//
// Owns the state of one request, borrows the tokenizer. Thread contract: none of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/ids.h"
#include "forge/text/stop_filter.h"
#include "forge/text/tokenizer.h"
#include "forge/text/utf8_stream.h"

namespace forge::text {

/// A control token that a text shall show after all.
struct SpeltToken {
  TokenId token;
  std::string text;

  friend bool operator==(const SpeltToken&, const SpeltToken&) = default;
};

/// Those of `texts` that are spellings of control tokens.
std::vector<SpeltToken> spelt_tokens(const Tokenizer& tokenizer,
                                     std::span<const std::string_view> texts);

class TextStream {
 public:
  /// Requires: no stop string is empty. One that is not valid UTF-8 is read as the text
  /// that it decodes to. The tokens in `spelt` stand for their texts there.
  explicit TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops = {},
                      std::vector<SpeltToken> spelt = {});

  /// Returns the text that is now certain, often empty; always empty once stopped() is true.
  std::string push(TokenId token);

  /// Ends the stream. Returns what was held back, an unfinished character as U+FFFD.
  std::string finish();

  /// True once a stop string was met; the text before it has been returned.
  bool stopped() const { return filter_.stopped(); }

 private:
  std::string_view bytes_of(TokenId token) const;

  const Tokenizer* tokenizer_;
  std::vector<SpeltToken> spelt_;
  Utf8Stream characters_;
  StopFilter filter_;
};

}  // namespace forge::text
