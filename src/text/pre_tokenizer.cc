#include "pre_tokenizer.h"

namespace forge::text::detail {
namespace {

using Pieces = std::vector<std::string_view>;

void append(std::string_view text, std::size_t begin, std::size_t end, Pieces& pieces) {
  if (end > begin) pieces.push_back(text.substr(begin, end - begin));
}

void cut_at(std::string_view text, const std::vector<Pattern::Match>& matches,
            PreTokenizer::Cut cut, Pieces& pieces) {
  std::size_t done = 0;
  for (const Pattern::Match& match : matches) {
    if (cut != PreTokenizer::Cut::matches_alone) append(text, done, match.begin, pieces);
    done = match.begin;
    if (cut == PreTokenizer::Cut::before) continue;
    append(text, match.begin, match.end, pieces);
    done = match.end;
  }
  if (cut != PreTokenizer::Cut::matches_alone) append(text, done, text.size(), pieces);
}

}  // namespace

Pieces PreTokenizer::pieces(std::string_view text) const {
  Pieces pieces;
  append(text, 0, text.size(), pieces);
  std::vector<Pattern::Match> matches;
  for (const Step& step : steps_) {
    Pieces finer;
    Pattern::Finder finder(step.pattern);
    for (const std::string_view piece : pieces) {
      matches.clear();
      finder.find_all(piece, matches);
      cut_at(piece, matches, step.cut, finer);
    }
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace forge::text::detail
