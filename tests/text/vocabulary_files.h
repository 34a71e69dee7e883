// Vocabularies in GGUF and, beside each, texts (.inp) and the tokens that they become (.out), in
// the form of llama.cpp's test vocabularies.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "text/checkpoint_files.h"

namespace forge::test {

/// The texts of a .inp.
inline std::vector<std::string> texts_of(const std::string& path) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string all = text_of_file(path);
  std::vector<std::string> texts;
  std::size_t done = 0;
  for (std::size_t at = all.find(separator); at != std::string::npos;
       at = all.find(separator, done)) {
    texts.push_back(all.substr(done, at - done));
    done = at + separator.size();
  }
  return texts;
}

/// The tokens of each text, a line of a .out.
inline std::vector<std::vector<TokenId>> tokens_of(const std::string& path) {
  std::istringstream lines(text_of_file(path));
  std::vector<std::vector<TokenId>> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<TokenId> tokens;
    for (std::uint32_t id = 0; words >> id;) tokens.emplace_back(id);
    all.push_back(tokens);
  }
  return all;
}

/// Text as text: no token is put before it, and the spelling of a control token is none.
inline constexpr text::EncodeOptions kPlain{.add_special = false, .control_tokens = false};

}  // namespace forge::test
