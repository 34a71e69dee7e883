// StringSet: a set of texts, by a pattern and by bounds on their length.
//
// The two are kept apart as long as possible: texts of at most 10,000 characters are a number, not
// an automaton of 10,000 states.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dfa.h"

namespace forge::grammar {

class StringSet {
 public:
  static StringSet all() { return StringSet(all_texts(), 0, kMany); }
  static StringSet none() { return StringSet(nullptr, 0, 0); }
  static StringSet of(Dfa dfa);
  static StringSet of(DfaPtr dfa) {
    return dfa->empty() ? none() : StringSet(std::move(dfa), 0, kMany);
  }
  static StringSet of_words(std::span<const std::u32string> words, Compilation& compilation);
  static StringSet of_length(std::uint64_t least, std::uint64_t most);

  bool is_none() const { return pattern_ == nullptr; }
  bool is_all() const { return pattern_ == all_texts() && least_ == 0 && most_ == kMany; }
  const DfaPtr& pattern() const { return pattern_; }
  std::uint64_t least() const { return least_; }
  std::uint64_t most() const { return most_; }

  StringSet intersect(const StringSet& other, Compilation& compilation) const;
  StringSet unite(const StringSet& other, Compilation& compilation) const;
  StringSet invert(Compilation& compilation) const;

  /// One automaton for the whole set. Requires: not none.
  DfaPtr automaton(Compilation& compilation) const;

  friend bool operator==(const StringSet&, const StringSet&) = default;

 private:
  StringSet(DfaPtr pattern, std::uint64_t least, std::uint64_t most)
      : pattern_(std::move(pattern)), least_(least), most_(most) {}

  DfaPtr pattern_;  ///< null: none
  std::uint64_t least_;
  std::uint64_t most_;  ///< kMany: any
};

}  // namespace forge::grammar
