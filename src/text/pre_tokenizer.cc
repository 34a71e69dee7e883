#include "pre_tokenizer.h"

#include <string>

#include "alphabet.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

using Pieces = std::vector<std::string_view>;
using Cut = PreTokenizer::Cut;
using Matches = std::vector<Pattern::Match>;

void append(std::string_view text, std::size_t begin, std::size_t end, Pieces& pieces) {
  if (end > begin) pieces.push_back(text.substr(begin, end - begin));
}

/// Of "1234567": "1" "234" "567".
void append_threes(std::string_view match, Pieces& pieces) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < match.size(); at += character_bytes(match[at])) ++characters;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < match.size();) {
    at += character_bytes(match[at]);
    if (--characters % 3 != 0) continue;
    append(match, begin, at, pieces);
    begin = at;
  }
}

/// Matches side by side become one.
void join_neighbours(Matches& matches) {
  std::size_t kept = 0;
  for (const Pattern::Match& match : matches) {
    if (kept > 0 && matches[kept - 1].end == match.begin) {
      matches[kept - 1].end = match.end;
    } else {
      matches[kept++] = match;
    }
  }
  matches.resize(kept);
}

void cut_at(std::string_view text, Matches& matches, Cut cut, Pieces& pieces) {
  if (cut == Cut::contiguous) join_neighbours(matches);
  std::size_t done = 0;
  for (const Pattern::Match& match : matches) {
    if (cut != Cut::matches_alone && cut != Cut::after) append(text, done, match.begin, pieces);
    if (cut == Cut::before) {
      done = match.begin;
      continue;
    }
    if (cut == Cut::after) append(text, done, match.end, pieces);
    if (cut == Cut::threes) {
      append_threes(text.substr(match.begin, match.end - match.begin), pieces);
    } else if (cut != Cut::removed && cut != Cut::after) {
      append(text, match.begin, match.end, pieces);
    }
    done = match.end;
  }
  if (cut != Cut::matches_alone) append(text, done, text.size(), pieces);
}

/// Finds in the spelling of `piece`, whose bytes are characters of one or two bytes, and says where
/// that is in `piece`.
void find_spelt(Pattern::Finder& finder, std::string_view piece, Matches& matches) {
  std::string spelt;
  std::vector<std::size_t> places;  // [bytes of spelt] of a byte of piece
  for (std::size_t at = 0; at < piece.size(); ++at) {
    spelt += spelling_of_byte(static_cast<unsigned char>(piece[at]));
    places.resize(spelt.size(), at);
  }
  places.push_back(piece.size());
  finder.find_all(spelt, matches);
  for (Pattern::Match& match : matches) match = {places[match.begin], places[match.end]};
}

}  // namespace

Pieces PreTokenizer::pieces(std::string_view text) const {
  Pieces pieces;
  append(text, 0, text.size(), pieces);
  Matches matches;
  for (const Step& step : steps_) {
    Pieces finer;
    finer.reserve(pieces.size());
    Pattern::Finder finder(step.pattern);
    for (const std::string_view piece : pieces) {
      matches.clear();
      if (step.sees == Sees::spelt_bytes) {
        find_spelt(finder, piece, matches);
      } else {
        finder.find_all(piece, matches);
      }
      cut_at(piece, matches, step.cut, finer);
    }
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace forge::text::detail
