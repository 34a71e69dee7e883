#include "staged_tokenizer.h"

#include "forge/core/check.h"
#include "forge/text/utf8_stream.h"
#include "utf8_text.h"

namespace forge::text::detail {

/// One call of encode().
class StagedTokenizer::Encoder {
 public:
  Encoder(const TokenizerStages& stages, bool control_tokens, std::vector<TokenId>& tokens)
      : stages_(stages), control_tokens_(control_tokens), tokens_(tokens) {}

  /// Returns: a byte without a token, which ends it.
  std::optional<unsigned char> encode(std::string_view text) {
    scratch_ = stages_.model->make_scratch(text.size());
    for (const TextPart& part : stages_.added.split(text, control_tokens_)) {
      if (part.token) {
        tokens_.push_back(*part.token);
      } else {
        normalize(part.text, part.text.data() == text.data());
      }
      if (missing_) break;
    }
    return missing_;
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
      if (missing_) return;
    }
  }

  void cut(std::string_view text, bool first) {
    std::string marked;
    if (stages_.marks.changes_text()) {
      marked = stages_.marks.apply(text, first);
      text = marked;
    }
    for (const std::string_view piece : stages_.pre_tokenizer.pieces(text)) {
      missing_ = stages_.model->append_tokens(piece, *scratch_, tokens_);
      if (missing_) return;
    }
  }

  const TokenizerStages& stages_;
  const bool control_tokens_;
  std::vector<TokenId>& tokens_;
  std::unique_ptr<PieceModel::Scratch> scratch_;
  std::optional<unsigned char> missing_;
};

EncodedText StagedTokenizer::encode(std::string_view text, EncodeOptions options) const {
  FORGE_CHECK(text.size() < (std::uint64_t{1} << 30U), "a text of ", text.size(), " bytes");
  const SpecialTokens& special = vocabulary_.special;
  std::vector<TokenId> tokens;
  if (options.add_special) tokens = special.before;
  std::string valid;
  if (!is_valid_utf8(text)) {
    valid = to_valid_utf8(text);
    text = valid;
  }
  const auto missing = Encoder(stages_, options.control_tokens, tokens).encode(text);
  if (missing) return tl::unexpected(MissingByte{*missing});
  if (options.add_special) tokens.insert(tokens.end(), special.after.begin(), special.after.end());
  return tokens;
}

std::string_view StagedTokenizer::bytes_of(TokenId token) const {
  if (token.value >= vocabulary_.tokens.size()) return {};
  return vocabulary_.tokens[token.value].bytes;
}

bool StagedTokenizer::is_control(TokenId token) const {
  return token.value < vocabulary_.tokens.size() && vocabulary_.tokens[token.value].control;
}

std::string_view StagedTokenizer::spelling_of(TokenId token) const {
  if (token.value >= vocabulary_.tokens.size()) return {};
  return vocabulary_.tokens[token.value].spelling;
}

}  // namespace forge::text::detail
