// What is in SentencePiece's tokenizer.model, as its messages have it.
//
// Source: https://github.com/google/sentencepiece, src/sentencepiece_model.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace forge::text::detail {

/// Borrows its texts from the file.
struct SentencePieceFile {
  enum class Type : std::uint8_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6,
  };
  struct Piece {
    std::string_view text;
    float score = 0;
    Type type = Type::normal;
  };
  enum class Model : std::uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };

  std::vector<Piece> pieces;  ///< by their ids
  Model model = Model::unigram;
  bool byte_fallback = false;
  bool space_is_suffix = false;
  std::string_view begin = "<s>";  ///< spellings of control tokens
  std::string_view end = "</s>";
  std::string_view padding = "<pad>";

  std::string_view chars_map;
  bool adds_space = true;
  bool drops_extra_spaces = true;
  bool marks_spaces = true;
};

/// Errors: a sentence.
tl::expected<SentencePieceFile, std::string> parse_sentence_piece_file(std::string_view bytes);

}  // namespace forge::text::detail
