// Tokenizers from files, in one line each.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "forge/formats/gguf.h"
#include "forge/text/load_tokenizer.h"

namespace forge::test {

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The tokenizer, or an exception with the reason why there is none.
inline std::unique_ptr<const text::Tokenizer> taken(text::LoadedTokenizer loaded) {
  if (!loaded) throw std::runtime_error(formats::to_string(loaded.error()));
  return std::move(*loaded);
}

inline std::unique_ptr<const text::Tokenizer> from_gguf(const std::string& path) {
  return taken(text::load_tokenizer(formats::Gguf::open(path).value()));
}

inline std::unique_ptr<const text::Tokenizer> from_directory(const std::string& path) {
  return taken(text::load_tokenizer(path));
}

inline std::vector<TokenId> ids(std::initializer_list<std::uint32_t> values) {
  std::vector<TokenId> tokens;
  for (const std::uint32_t value : values) tokens.emplace_back(value);
  return tokens;
}

}  // namespace forge::test

/// For messages of GoogleTest.
namespace forge::text {
inline void PrintTo(TokenId token, std::ostream* out) { *out << token.value; }
}  // namespace forge::text
