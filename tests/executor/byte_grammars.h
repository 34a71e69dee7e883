// Grammars over the vocabulary of the built-in model, whose tokens are bytes.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "forge/grammar/output_compiler.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::testing {

inline std::shared_ptr<grammar::OutputCompiler> byte_grammars() {
  static const text::ByteTokenizer kBytes;
  return std::make_shared<grammar::OutputCompiler>([] {
    grammar::VocabularyTokens vocabulary;
    for (std::uint32_t token = 0; token < kBytes.vocabulary_size(); ++token) {
      vocabulary.tokens.push_back(kBytes.bytes_of(TokenId(token)));
    }
    vocabulary.eos = {text::ByteTokenizer::kEos.value};
    return vocabulary;
  });
}

/// A grammar of one form.
inline OutputGrammar output_of(GrammarKind kind, std::string text = "", std::string after = "") {
  return {{{kind, std::move(text)}}, std::move(after)};
}

}  // namespace forge::testing
