// Tokenizer: between text and the numbers that a model reads and writes.
//
//   "Hello world"  --encode-->  [1, 15043, 3186]  --bytes_of each-->  "", " Hello", " world"
//
// A token stands for bytes, not for characters: a character outside the vocabulary is several
// tokens, each with a part of its bytes. So the bytes of a sequence are those of its tokens, one
// after the other, and what is shown to people goes through Utf8Stream (text_stream.h).
//
// A control token (begin or end of a sequence, the turns of a conversation) stands for no text. A
// checkpoint gives it a spelling, such as "<|endoftext|>", and encode() reads that in a text as the
// token, as Hugging Face's tokenizers do and the servers built on them; a text that must not be
// able to do so (untrusted text within a prompt) is encoded with EncodeOptions::control_tokens
// false.
//
// A vocabulary may lack tokens for some bytes. A text that needs one of them has no tokens: where
// the checkpoint has an unknown token that stands for such text, and else encode() says which byte
// it is. Hugging Face's `tokenizers` and llama.cpp leave the byte out and say nothing.
//
// Implementations: ByteTokenizer (byte_tokenizer.h) and what load_tokenizer (load_tokenizer.h)
// reads from a checkpoint. Thread contract: const, any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"

namespace forge::text {

struct EncodeOptions {
  /// The tokens that the checkpoint puts before a text (begin of sequence) and after it are there.
  bool add_special = true;
  /// Spellings of control tokens in the text are read as these tokens.
  bool control_tokens = true;
};

/// A byte of a text for which the vocabulary has no token.
struct MissingByte {
  unsigned char byte = 0;

  friend bool operator==(const MissingByte&, const MissingByte&) = default;
};
/// "the vocabulary has no token for the byte 241"
std::string to_string(const MissingByte& error);

using EncodedText = tl::expected<std::vector<TokenId>, MissingByte>;

class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;
  virtual ~Tokenizer() = default;

  /// Tokens are below this number. A model's own vocabulary may be larger, padded to a round
  /// number.
  virtual std::uint32_t vocabulary_size() const = 0;

  /// The tokens of a text. Errors: the first byte without a token; none for the empty text.
  /// Requires: less than 2^30 bytes.
  virtual EncodedText encode(std::string_view text, EncodeOptions options) const = 0;
  EncodedText encode(std::string_view text) const { return encode(text, {}); }

  /// The most bytes of a text that one of its tokens stands for, at least 1: a text of n bytes has
  /// at least n / token_bytes_max() tokens, whatever the options, so a text that is too long for a
  /// model is known before it is encoded. nullopt where a token can stand for any number of bytes,
  /// because it takes the white space beside it or a whole row of unknown characters, or because
  /// text is shortened or dropped before it is encoded.
  virtual std::optional<std::size_t> token_bytes_max() const = 0;

  /// The bytes that `token` adds to the text; valid as long as the tokenizer. Empty for control
  /// tokens and those outside the vocabulary.
  virtual std::string_view bytes_of(TokenId token) const = 0;

  /// True if `token` is a token of the vocabulary that by its nature stands for no text.
  virtual bool is_control(TokenId token) const = 0;

  /// `token` as the checkpoint spells it: "<|end|>" for a control token, and of others whatever the
  /// vocabulary writes for their bytes ("\u0120the", "\u2581the", "<0x0A>"); the bytes, where it
  /// has no spelling of its own. Empty outside the vocabulary.
  virtual std::string_view spelling_of(TokenId token) const { return bytes_of(token); }

  /// The tokens with which a model ends its text; may be none.
  virtual std::span<const TokenId> eos_tokens() const = 0;

  /// The token that begins a sequence, whether or not encode() puts it there, and the one that
  /// fills up batches; none where the checkpoint names none.
  virtual std::optional<TokenId> bos_token() const { return std::nullopt; }
  virtual std::optional<TokenId> pad_token() const { return std::nullopt; }

  /// The bytes_of() of all tokens, one after the other.
  std::string decode_bytes(std::span<const TokenId> tokens) const;

  /// The text: decode_bytes with each ill-formed part replaced by U+FFFD (utf8_stream.h).
  std::string decode(std::span<const TokenId> tokens) const;

  /// The bytes of all tokens, control tokens as they are spelt: encode() makes the tokens of it.
  std::string spelt_out(std::span<const TokenId> tokens) const;
};

}  // namespace forge::text
