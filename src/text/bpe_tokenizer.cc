#include "bpe_tokenizer.h"

#include "forge/core/check.h"
#include "forge/text/utf8_stream.h"
#include "utf8_text.h"

namespace forge::text::detail {

/// One call of encode().
class BpeTokenizer::Encoder {
 public:
  Encoder(const BpeTokenizer& tokenizer, bool control_tokens, std::vector<TokenId>& tokens)
      : vocabulary_(tokenizer.vocabulary_),
        stages_(tokenizer.stages_),
        control_tokens_(control_tokens),
        tokens_(tokens) {}

  void encode(std::string_view text) {
    for (const TextPart& part : stages_.added.split(text, control_tokens_)) {
      if (part.token) {
        tokens_.push_back(*part.token);
      } else {
        normalize(part.text, part.text.data() == text.data());
      }
    }
  }

 private:
  void normalize(std::string_view text, bool first) {
    std::string rewritten;
    if (stages_.normalizer.changes_text()) {
      rewritten = stages_.normalizer.apply(text, first);
      text = rewritten;
    }
    for (const TextPart& part : stages_.added_normalized.split(text, control_tokens_)) {
      if (part.token) {
        tokens_.push_back(*part.token);
      } else {
        cut(part.text, first && part.text.data() == text.data());
      }
    }
  }

  void cut(std::string_view text, bool first) {
    std::string marked;
    if (stages_.marks.changes_text()) {
      marked = stages_.marks.apply(text, first);
      text = marked;
    }
    for (const std::string_view piece : stages_.pre_tokenizer.pieces(text)) merge(piece);
  }

  void merge(std::string_view piece) {
    if (stages_.whole_pieces) {
      const auto found = vocabulary_.pieces.find(std::string(piece));
      if (found != vocabulary_.pieces.end()) {
        tokens_.emplace_back(found->second);
        return;
      }
    }
    symbols_.clear();
    stages_.alphabet.append_symbols(piece, symbols_);
    stages_.merges.apply(symbols_);
    for (const std::uint32_t symbol : symbols_) tokens_.emplace_back(symbol);
  }

  const BpeVocabulary& vocabulary_;
  const BpeStages& stages_;
  const bool control_tokens_;
  std::vector<TokenId>& tokens_;
  std::vector<std::uint32_t> symbols_;
};

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, EncodeOptions options) const {
  FORGE_CHECK(text.size() < (std::uint64_t{1} << 30U), "a text of ", text.size(), " bytes");
  std::vector<TokenId> tokens;
  if (options.begin_of_sequence && vocabulary_.begin_of_sequence) {
    tokens.push_back(*vocabulary_.begin_of_sequence);
  }
  std::string valid;
  if (!is_valid_utf8(text)) {
    valid = to_valid_utf8(text);
    text = valid;
  }
  Encoder(*this, options.control_tokens, tokens).encode(text);
  return tokens;
}

std::string_view BpeTokenizer::bytes_of(TokenId token) const {
  if (token.value >= vocabulary_.tokens.size()) return {};
  return vocabulary_.tokens[token.value].bytes;
}

bool BpeTokenizer::is_control(TokenId token) const {
  return token.value < vocabulary_.tokens.size() && vocabulary_.tokens[token.value].control;
}

}  // namespace forge::text::detail
