// Dfa: a deterministic finite automaton over Unicode characters; a set of texts.
//
// State 0 is dead: nothing is accepted from there on. From every other state some text is accepted,
// so a text is a beginning of an accepted one exactly as long as its state is not dead. A state may
// carry a label, a number above 0: the text that ends there is accepted, as one of that kind.
//
// Characters that all transitions treat alike share a class; `pieces` are ranges of characters,
// ascending and without gaps, with the class of each. Surrogates are no characters: their class is
// never followed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compilation.h"

namespace forge::grammar {

using State = std::uint32_t;
using Label = std::uint32_t;

inline constexpr State kDead = 0;
inline constexpr char32_t kLastCharacter = 0x10FFFF;
/// More than any count of characters or words that is compared with it.
inline constexpr std::uint64_t kMany = std::uint64_t{1} << 62;

struct CharRange {
  char32_t first = 0;
  char32_t last = 0;
  friend auto operator<=>(const CharRange&, const CharRange&) = default;
};
/// Ranges in ascending order, without overlaps.
using CharSet = std::vector<CharRange>;

CharSet normalized(CharSet set);
CharSet complement_of(const CharSet& set);  ///< without surrogates
CharSet without_surrogates(const CharSet& set);

struct Dfa {
  std::vector<char32_t> piece_begin{0};
  std::vector<std::uint32_t> piece_class{0};
  std::array<std::uint32_t, 128> ascii_class{};
  std::uint32_t classes = 1;
  std::vector<State> table{0};  ///< [states][classes]
  std::vector<Label> labels{0};
  State start = kDead;

  std::size_t states() const { return labels.size(); }
  std::size_t piece_of(char32_t c) const;
  std::uint32_t class_of(char32_t c) const {
    return c < ascii_class.size() ? ascii_class[c] : piece_class[piece_of(c)];
  }
  State next(State state, char32_t c) const {
    return table[std::size_t{state} * classes + class_of(c)];
  }
  char32_t piece_last(std::size_t piece) const {
    return piece + 1 < piece_begin.size() ? piece_begin[piece + 1] - 1 : kLastCharacter;
  }
  bool empty() const { return start == kDead; }
};
using DfaPtr = std::shared_ptr<const Dfa>;

/// The state that `text` leads to.
State state_after(const Dfa& dfa, std::u32string_view text);

/// Sets the classes: `begins` are where pieces begin, the class of each from `class_of_piece`.
void set_pieces(Dfa& dfa, std::vector<char32_t> begins, std::vector<std::uint32_t> class_of_piece);

/// Makes state 0 of all states from which nothing is accepted, drops what the start does not reach.
Dfa trimmed(const Dfa& dfa, Compilation& compilation);

/// Labels of a text by the labels that two automata give it; 0 where one does not accept it.
using Combine = Label (*)(Label a, Label b);
Dfa product(const Dfa& a, const Dfa& b, Combine combine, Compilation& compilation);

Dfa intersection(const Dfa& a, const Dfa& b, Compilation& compilation);
Dfa union_of(const Dfa& a, const Dfa& b, Compilation& compilation);
Dfa difference(const Dfa& a, const Dfa& b, Compilation& compilation);
Dfa complement(const Dfa& a, Compilation& compilation);

const DfaPtr& all_texts();
/// Texts of at least `least` characters, and at most `most` if that is below kMany.
Dfa texts_of_length(std::uint64_t least, std::uint64_t most, Compilation& compilation);
/// Each of `words`, labelled with its place + 1; all others labelled `other`, or refused if it is
/// 0.
Dfa dfa_of_words(std::span<const std::u32string> words, Label other, Compilation& compilation);

/// For each state, how many characters the shortest text has that is accepted from there.
std::vector<std::uint32_t> distances_to_end(const Dfa& dfa);
/// For each state, how many texts are accepted from there with a label that `counts` names; kMany
/// where there is no end of them.
std::vector<std::uint64_t> words_from(const Dfa& dfa, const std::vector<bool>& counts);

}  // namespace forge::grammar
