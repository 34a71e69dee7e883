// NumberSet: a set of numbers, as the texts that JSON has for them.
//
// All numbers, and all integers, are accepted with an exponent, too. A set that tells numbers apart
// by their value (bounds, multipleOf, enum, const and what is combined of them) has texts without
// exponent only: digits, and a fraction of any length. 1, 1.0 and 1.00 are one number, as are 0 and
// -0.0; a set has all or none of its texts.
#pragma once

#include <cstdint>
#include <string>

#include "decimal.h"
#include "dfa.h"

namespace forge::grammar {

class NumberSet {
 public:
  enum class Kind : std::uint8_t { none, all, integers, plain };

  static NumberSet none() { return NumberSet(Kind::none); }
  static NumberSet all() { return NumberSet(Kind::all); }
  static NumberSet integers() { return NumberSet(Kind::integers); }
  static NumberSet of(const Decimal& value, Compilation& compilation);
  /// Those below `limit`, those above, each with the limit itself or without.
  static NumberSet at_most(const Decimal& limit, bool exclusive, Compilation& compilation);
  static NumberSet at_least(const Decimal& limit, bool exclusive, Compilation& compilation);
  /// Errors: `factor`, without its point, is too large for the steps.
  static NumberSet multiples_of(const Decimal& factor, Compilation& compilation);

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_all() const { return kind_ == Kind::all; }

  NumberSet intersect(const NumberSet& other, Compilation& compilation) const;
  NumberSet unite(const NumberSet& other, Compilation& compilation) const;
  NumberSet invert(Compilation& compilation) const;

  /// The texts. Requires: not none.
  DfaPtr texts() const;

 private:
  explicit NumberSet(Kind kind, DfaPtr plain = nullptr) : kind_(kind), plain_(std::move(plain)) {}
  static NumberSet plain(Dfa dfa);
  const Dfa& plain_texts() const;

  Kind kind_;
  DfaPtr plain_;  ///< of Kind::plain
};

}  // namespace forge::grammar
