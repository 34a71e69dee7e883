#include "sentence_piece_file.h"

#include <bit>

#include "wire_reader.h"

namespace forge::text::detail {
namespace {

using Field = WireReader::Field;
using Done = tl::expected<void, std::string>;

/// Calls read(field) for each field of `message`. Errors: its bytes are no fields, or those of
/// read.
template <class Read>
Done read_fields(std::string_view message, const char* name, const Read& read) {
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (Done done = read(*field); !done) return done;
  }
  if (reader.ended_well()) return {};
  return tl::unexpected(std::string("is no SentencePiece model: ") + name +
                        " has bytes that are no field of a protocol buffer");
}

Done read_piece(std::string_view message, SentencePieceFile& out) {
  SentencePieceFile::Piece piece;
  Done done = read_fields(message, "a piece", [&](const Field& field) -> Done {
    if (field.number == 1) piece.text = field.text;
    if (field.number == 2)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number != 3) return {};
    if (field.value < 1 || field.value > 6) {
      return tl::unexpected("piece " + std::to_string(out.pieces.size()) + " is of type " +
                            std::to_string(field.value) + ", accepted are 1 to 6");
    }
    piece.type = static_cast<SentencePieceFile::Type>(field.value);
    return {};
  });
  out.pieces.push_back(piece);
  return done;
}

Done read_trainer(std::string_view message, SentencePieceFile& out) {
  return read_fields(message, "trainer_spec", [&](const Field& field) -> Done {
    switch (field.number) {
      case 3:
        if (field.value < 1 || field.value > 4) {
          return tl::unexpected("trainer_spec.model_type is " + std::to_string(field.value) +
                                ", accepted are 1 (UNIGRAM) and 2 (BPE)");
        }
        out.model = static_cast<SentencePieceFile::Model>(field.value);
        break;
      case 24:
        out.space_is_suffix = field.value != 0;
        break;
      case 35:
        out.byte_fallback = field.value != 0;
        break;
      case 46:
        out.begin = field.text;
        break;
      case 47:
        out.end = field.text;
        break;
      case 48:
        out.padding = field.text;
        break;
      default:
        break;  // how it was trained
    }
    return {};
  });
}

Done read_normalizer(std::string_view message, SentencePieceFile& out) {
  return read_fields(message, "normalizer_spec", [&](const Field& field) -> Done {
    if (field.number == 2) out.chars_map = field.text;
    if (field.number == 3) out.adds_space = field.value != 0;
    if (field.number == 4) out.drops_extra_spaces = field.value != 0;
    if (field.number == 5) out.marks_spaces = field.value != 0;
    return {};
  });
}

}  // namespace

tl::expected<SentencePieceFile, std::string> parse_sentence_piece_file(std::string_view bytes) {
  SentencePieceFile file;
  Done done = read_fields(bytes, "the file", [&](const Field& field) -> Done {
    if (field.number == 1) return read_piece(field.text, file);
    if (field.number == 2) return read_trainer(field.text, file);
    if (field.number == 3) return read_normalizer(field.text, file);
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  if (file.pieces.empty())
    return tl::unexpected(std::string("is no SentencePiece model: it has no pieces"));
  return file;
}

}  // namespace forge::text::detail
