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
#include <vector>

#include "forge/core/ids.h"
#include "forge/text/stop_filter.h"
#include "forge/text/tokenizer.h"
#include "forge/text/utf8_stream.h"

namespace forge::text {

class TextStream {
 public:
  /// Requires: no stop string is empty. One that is not valid UTF-8 is read as the text
  /// that it decodes to.
  explicit TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops = {});

  /// Returns the text that is now certain, often empty; always empty once stopped() is true.
  std::string push(TokenId token);

  /// Ends the stream. Returns what was held back, an unfinished character as U+FFFD.
  std::string finish();

  /// True once a stop string was met; the text before it has been returned.
  bool stopped() const { return filter_.stopped(); }

 private:
  const Tokenizer* tokenizer_;
  Utf8Stream characters_;
  StopFilter filter_;
};

}  // namespace forge::text
