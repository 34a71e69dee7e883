// StopFilter: ends a text at the first of several stop strings, without ever having
// given out the beginning of one.
//
// Text that could be the start of a stop string is held back until it is known to be
// something else. The text ends where the first stop string is complete; if several
// are complete at the same character, the longest counts. The stop string itself is
// dropped, and all that follows it.
//
// Each stop string is followed by its own Knuth-Morris-Pratt automaton (Knuth, Morris,
// Pratt 1977), so a character costs O(number of stop strings), amortised. What comes out depends on
// the text alone, never on how it was grouped.
//
// Owns its automata and the held text. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace forge::text {

class StopFilter {
 public:
  /// Requires: no stop string is empty; all are valid UTF-8, as is the text, so that
  /// a match never begins inside a character.
  explicit StopFilter(const std::vector<std::string>& stops);

  /// Appends to `out` what is now certain not to be part of a stop string. Once stopped,
  /// all text is dropped.
  void push(std::string_view text, std::string& out);

  /// Ends the text and appends what was held back, unless stopped. Then nothing is held or matched.
  void finish(std::string& out);

  bool stopped() const { return stopped_; }

 private:
  struct Automaton {
    std::string stop;
    std::vector<std::size_t> border;  // [n]: longest proper border of the first n characters
    std::size_t matched = 0;

    void advance(char next);
  };

  std::vector<Automaton> automata_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace forge::text
