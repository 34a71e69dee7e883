// The symbols that byte-pair encoding begins with: bytes or characters, each a token.
//
// GPT-2 and its kin merge bytes. Their vocabularies spell each byte as a printable character, so
// that a token is a word without spaces in a text file: the bytes 21-7E, A1-AC and AE-FF are the
// characters of these numbers, and the other 68, in their order, U+0100 to U+0143. A space is
// U+0120. Source: https://github.com/openai/gpt-2, encoder.py, bytes_to_unicode.
//
// SentencePiece and its kin merge characters; one outside the vocabulary becomes its bytes, which
// the vocabulary spells <0x00> to <0xFF>, or else the unknown token.
//
// A vocabulary may lack bytes (StarCoder's has no F1) and have no unknown token: a text with such a
// byte has no symbols.
//
// Thread contract: const, any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flat_map.h"

namespace forge::text::detail {

/// The character that spells `byte`.
std::string spelling_of_byte(unsigned char byte);

/// The bytes that a token of a byte-level vocabulary stands for; none if one of its characters
/// spells no byte.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

/// "<0x0A>" -> 0A; none for any other text.
std::optional<unsigned char> byte_of_fallback(std::string_view spelling);

class Alphabet {
 public:
  /// Makes a byte a symbol.
  void set_byte(unsigned char byte, std::uint32_t symbol) { bytes_[byte] = symbol; }
  /// Makes a character a symbol. Bytes stand for characters that are none.
  void set_character(std::uint32_t code_point, std::uint32_t symbol) {
    characters_.add(code_point, symbol);
  }
  void use_characters() { by_characters_ = true; }
  bool has_character(std::uint32_t code_point) const {
    return characters_.find(code_point) != nullptr;
  }
  /// Sets the symbol that stands for a byte without a symbol, or for a character without a symbol,
  /// if some of its bytes have none either; with `fuse`, it stands for several such in a row.
  void set_unknown(std::uint32_t symbol, bool fuse) {
    unknown_ = symbol;
    fuse_unknown_ = fuse;
  }

  /// Appends the symbols of `text`. Returns: the first byte that has none, where nothing stands for
  /// what is unknown. Requires: valid UTF-8.
  std::optional<unsigned char> append_symbols(std::string_view text,
                                              std::vector<std::uint32_t>& symbols) const;

 private:
  using Symbols = std::vector<std::uint32_t>;

  std::optional<unsigned char> missing_byte(std::string_view bytes) const;
  std::optional<unsigned char> append_bytes(std::string_view text, Symbols& symbols) const;
  std::optional<unsigned char> append_characters(std::string_view text, Symbols& symbols) const;

  std::array<std::optional<std::uint32_t>, 256> bytes_;
  FlatMap<std::uint32_t> characters_;
  bool by_characters_ = false;
  std::optional<std::uint32_t> unknown_;
  bool fuse_unknown_ = false;
};

}  // namespace forge::text::detail
