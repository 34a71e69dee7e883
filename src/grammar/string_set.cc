#include "string_set.h"

#include <algorithm>

namespace forge::grammar {

StringSet StringSet::of(Dfa dfa) {
  if (dfa.empty()) return none();
  return StringSet(std::make_shared<const Dfa>(std::move(dfa)), 0, kMany);
}

StringSet StringSet::of_words(std::span<const std::u32string> words, Compilation& compilation) {
  return of(dfa_of_words(words, 0, compilation));
}

StringSet StringSet::of_length(std::uint64_t least, std::uint64_t most) {
  return least > most ? none() : StringSet(all_texts(), least, most);
}

DfaPtr StringSet::automaton(Compilation& compilation) const {
  if (least_ == 0 && most_ == kMany) return pattern_;
  const Dfa lengths = texts_of_length(least_, most_, compilation);
  if (pattern_ == all_texts()) return std::make_shared<const Dfa>(lengths);
  return std::make_shared<const Dfa>(intersection(*pattern_, lengths, compilation));
}

StringSet StringSet::intersect(const StringSet& other, Compilation& compilation) const {
  if (is_none() || other.is_none()) return none();
  const std::uint64_t least = std::max(least_, other.least_);
  const std::uint64_t most = std::min(most_, other.most_);
  if (least > most) return none();
  if (pattern_ == all_texts()) return StringSet(other.pattern_, least, most);
  if (other.pattern_ == all_texts() || other.pattern_ == pattern_) {
    return StringSet(pattern_, least, most);
  }
  Dfa both = intersection(*pattern_, *other.pattern_, compilation);
  if (both.empty()) return none();
  return StringSet(std::make_shared<const Dfa>(std::move(both)), least, most);
}

StringSet StringSet::unite(const StringSet& other, Compilation& compilation) const {
  if (is_none() || other.is_all()) return other;
  if (other.is_none() || is_all() || *this == other) return *this;
  return of(union_of(*automaton(compilation), *other.automaton(compilation), compilation));
}

StringSet StringSet::invert(Compilation& compilation) const {
  if (is_none()) return all();
  if (is_all()) return none();
  if (pattern_ == all_texts() && least_ == 0) return of_length(most_ + 1, kMany);
  if (pattern_ == all_texts() && most_ == kMany) return of_length(0, least_ - 1);
  return of(complement(*automaton(compilation), compilation));
}

}  // namespace forge::grammar
