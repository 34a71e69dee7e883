#include "number_set.h"

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "regex.h"

namespace forge::grammar {
namespace {

// Signs, digits and points, a class each; 12 is all else.
constexpr std::string_view kSymbols = "0123456789-.";

/// An automaton over kSymbols by what its states mean: `step` is from one to the next, nullopt if
/// that is dead; `label` is of each.
template <class Meaning, class Step, class LabelOf>
Dfa explore(const Meaning& start, const Step& step, const LabelOf& label,
            Compilation& compilation) {
  Dfa dfa;
  std::vector<char32_t> begins{0};
  std::vector<std::uint32_t> classes{12};
  begins.insert(begins.end(), {'-', '.', '/'});
  classes.insert(classes.end(), {10, 11, 12});
  for (std::uint32_t digit = 0; digit < 10; ++digit) {
    begins.push_back('0' + digit);
    classes.push_back(digit);
  }
  begins.push_back('9' + 1);
  classes.push_back(12);
  set_pieces(dfa, std::move(begins), std::move(classes));
  dfa.table.assign(dfa.classes, kDead);

  std::map<Meaning, State> names{{start, 1}};
  std::vector<Meaning> states{start, start};
  for (std::size_t s = 1; s < states.size(); ++s) {
    if (!compilation.spend(dfa.classes)) return Dfa();
    const Meaning from = states[s];
    dfa.labels.push_back(label(from));
    for (const char symbol : kSymbols) {
      const std::optional<Meaning> to = step(from, symbol);
      if (!to) {
        dfa.table.push_back(kDead);
        continue;
      }
      const auto [place, is_new] = names.try_emplace(*to, static_cast<State>(states.size()));
      if (is_new) states.push_back(*to);
      dfa.table.push_back(place->second);
    }
    dfa.table.push_back(kDead);
  }
  dfa.start = 1;
  return trimmed(dfa, compilation);
}

/// Where in a number a text is. `zero` is right after a first digit 0, which no digit may follow.
enum class Place : std::uint8_t { start, sign, zero, whole, point, fraction };

/// The place after `symbol`; nullopt where it cannot stand.
std::optional<Place> next_place(Place place, char symbol) {
  if (symbol == '-') return place == Place::start ? std::optional(Place::sign) : std::nullopt;
  if (symbol == '.') {
    const bool fits = place == Place::zero || place == Place::whole;
    return fits ? std::optional(Place::point) : std::nullopt;
  }
  switch (place) {
    case Place::start:
    case Place::sign:
      return symbol == '0' ? Place::zero : Place::whole;
    case Place::zero:
      return std::nullopt;
    case Place::whole:
      return Place::whole;
    case Place::point:
    case Place::fraction:
      break;
  }
  return Place::fraction;
}
bool can_end(Place place) {
  return place == Place::zero || place == Place::whole || place == Place::fraction;
}

enum Order : std::uint8_t { kBelow = 1, kEqual = 2, kAbove = 3 };

/// Labels of an automaton over all numbers: how each compares with `limit`.
Dfa comparison(const Decimal& limit, Compilation& compilation) {
  struct Meaning {
    Place place = Place::start;
    bool negative = false;
    std::size_t digits = 0;  ///< read of the part that the place is in, as far as they matter
    Order order = kEqual;    ///< of the sizes so far; in the whole part as if equally long
    auto operator<=>(const Meaning&) const = default;
  };
  const auto compare = [](char a, char b) { return a < b ? kBelow : a > b ? kAbove : kEqual; };
  const std::size_t length = limit.whole.size();
  const auto whole_order = [&](const Meaning& m) {
    const std::size_t digits = m.place == Place::zero ? 0 : m.digits;
    return digits < length ? kBelow : digits > length ? kAbove : m.order;
  };
  const auto step = [&](const Meaning& from, char symbol) -> std::optional<Meaning> {
    const auto place = next_place(from.place, symbol);
    if (!place) return std::nullopt;
    Meaning to = from;
    to.place = *place;
    if (*place == Place::sign) to.negative = true;
    if (*place == Place::whole) {
      if (from.order == kEqual && from.digits < length) {
        to.order = compare(symbol, limit.whole[from.digits]);
      }
      to.digits = std::min(from.digits + 1, length + 1);
    }
    if (*place == Place::point) {
      to.order = whole_order(from);
      to.digits = 0;
    }
    if (*place == Place::fraction && from.order == kEqual) {
      const bool is_within = from.digits < limit.fraction.size();
      to.order = compare(symbol, is_within ? limit.fraction[from.digits] : '0');
      to.digits = to.order == kEqual && is_within ? from.digits + 1 : from.digits;
    }
    if (*place == Place::fraction && to.order != kEqual) to.digits = 0;
    return to;
  };
  const auto label = [&](const Meaning& m) -> Label {
    if (!can_end(m.place)) return 0;
    Order order = m.place == Place::fraction ? m.order : whole_order(m);
    const std::size_t read = m.place == Place::fraction ? m.digits : 0;
    if (order == kEqual && read < limit.fraction.size()) order = kBelow;
    if (!limit.negative) {
      if (!m.negative) return order;
      return limit.is_zero() && order == kEqual ? kEqual : kBelow;
    }
    if (!m.negative) return kAbove;
    return order == kBelow ? kAbove : order == kAbove ? kBelow : kEqual;
  };
  return explore(Meaning(), step, label, compilation);
}

/// The texts of `dfa` with a label of those.
Dfa with_labels(Dfa dfa, Label a, Label b, Compilation& compilation) {
  for (Label& label : dfa.labels) label = label != 0 && (label == a || label == b) ? 1 : 0;
  return trimmed(dfa, compilation);
}

/// Multiples of `factor` / 10^`shift`.
Dfa multiples(std::uint64_t factor, std::size_t shift, Compilation& compilation) {
  struct Meaning {
    Place place = Place::start;
    std::uint64_t rest = 0;    ///< of the digits so far
    std::size_t fraction = 0;  ///< digits of the fraction read, at most `shift`
    auto operator<=>(const Meaning&) const = default;
  };
  const auto step = [&](const Meaning& from, char symbol) -> std::optional<Meaning> {
    const auto place = next_place(from.place, symbol);
    if (!place) return std::nullopt;
    Meaning to = from;
    to.place = *place;
    if (symbol == '-' || symbol == '.') return to;
    if (*place == Place::fraction) {
      if (from.fraction == shift) return symbol == '0' ? std::optional(to) : std::nullopt;
      ++to.fraction;
    }
    to.rest = (from.rest * 10 + static_cast<std::uint64_t>(symbol - '0')) % factor;
    return to;
  };
  const auto label = [&](const Meaning& m) -> Label {
    if (!can_end(m.place)) return 0;
    std::uint64_t rest = m.rest;
    for (std::size_t i = m.fraction; i < shift && rest != 0; ++i) rest = rest * 10 % factor;
    return rest == 0 ? 1 : 0;
  };
  return explore(Meaning(), step, label, compilation);
}

/// A set that every grammar has the same of; it is made once.
template <class Make>
DfaPtr made_once(const Make& make) {
  Compilation unlimited({.steps_max = UINT64_MAX});
  return std::make_shared<const Dfa>(make(unlimited));
}

const DfaPtr& all_plain() {
  static const DfaPtr kTexts = made_once([](Compilation& c) {
    Dfa dfa = comparison({}, c);
    for (Label& label : dfa.labels) label = label != 0 ? 1 : 0;
    return trimmed(dfa, c);
  });
  return kTexts;
}
const DfaPtr& plain_integers() {
  static const DfaPtr kTexts = made_once([](Compilation& c) { return multiples(1, 0, c); });
  return kTexts;
}

// With an exponent a number of 128 characters stays within those of a double: the exponent is at
// most 179, or, after one digit before the point, at most 307 (1.6e308).
constexpr const char* kSmallExponent = R"([eE]\+?([0-9]{1,2}|0[0-9][0-9]|1[0-7][0-9]))";
constexpr const char* kLargeExponent = R"([eE]\+?(1[89][0-9]|2[0-9][0-9]|30[0-7]))";

const DfaPtr& all_numbers() {
  static const DfaPtr kTexts = made_once([](Compilation& c) {
    const std::string small = kSmallExponent;
    const std::string large = kLargeExponent;
    return dfa_of_regex("-?(0|[1-9][0-9]*)(\\.[0-9]+)?(" + small +
                            "|[eE]-[0-9]{1,3})?|-?[0-9](\\.[0-9]+)?" + large +
                            "|-?1(\\.[0-6][0-9]*)?[eE]\\+?308",
                        RegexMatch::whole, "", c);
  });
  return kTexts;
}

/// Integers: the exponent is at least the number of digits after the point that are not zeros at
/// its end. Up to 20 such digits are accepted.
const DfaPtr& all_integers() {
  static const DfaPtr kTexts = made_once([](Compilation& c) {
    const std::string small = kSmallExponent;
    const std::string large = kLargeExponent;
    std::string regex = "-?(0|[1-9][0-9]*)(\\.0+)?(" + small + ")?";
    regex += "|-?[0-9](\\.[0-9]{1,20}0*)?" + large + "|-?1(\\.[0-6][0-9]{0,19}0*)?[eE]\\+?308";
    for (int digits = 1; digits <= 20; ++digits) {
      // At least `digits`: 100 to 179, and those of two digits or one.
      std::string exponents = "0?[" + std::to_string(digits / 10 + 1) + "-9][0-9]";
      exponents += "|0?" + std::to_string(digits / 10) + "[" + std::to_string(digits % 10) + "-9]";
      if (digits < 10) exponents += "|[" + std::to_string(digits) + "-9]";
      regex += "|-?(0|[1-9][0-9]*)\\.[0-9]{" + std::to_string(digits) + "}0*[eE]\\+?(" + exponents +
               "|1[0-7][0-9])";
    }
    return dfa_of_regex(regex, RegexMatch::whole, "", c);
  });
  return kTexts;
}

}  // namespace

NumberSet NumberSet::plain(Dfa dfa) {
  if (dfa.empty()) return none();
  return NumberSet(Kind::plain, std::make_shared<const Dfa>(std::move(dfa)));
}

const Dfa& NumberSet::plain_texts() const {
  return kind_ == Kind::plain ? *plain_ : kind_ == Kind::all ? *all_plain() : *plain_integers();
}

DfaPtr NumberSet::texts() const {
  return kind_ == Kind::plain ? plain_ : kind_ == Kind::all ? all_numbers() : all_integers();
}

NumberSet NumberSet::of(const Decimal& value, Compilation& compilation) {
  return plain(with_labels(comparison(value, compilation), kEqual, kEqual, compilation));
}

NumberSet NumberSet::at_most(const Decimal& limit, bool exclusive, Compilation& compilation) {
  const Label other = exclusive ? kBelow : kEqual;
  return plain(with_labels(comparison(limit, compilation), kBelow, other, compilation));
}

NumberSet NumberSet::at_least(const Decimal& limit, bool exclusive, Compilation& compilation) {
  const Label other = exclusive ? kAbove : kEqual;
  return plain(with_labels(comparison(limit, compilation), kAbove, other, compilation));
}

NumberSet NumberSet::multiples_of(const Decimal& factor, Compilation& compilation) {
  const std::string digits = factor.whole + factor.fraction;
  std::uint64_t value = 0;
  for (const char c : digits) {
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    if (!compilation.spend(value)) return none();  // as many states, at least
  }
  return plain(multiples(value, factor.fraction.size(), compilation));
}

NumberSet NumberSet::intersect(const NumberSet& other, Compilation& compilation) const {
  if (is_none() || other.is_none()) return none();
  if (is_all()) return other;
  if (other.is_all()) return *this;
  if (kind_ == Kind::integers && other.kind_ == Kind::integers) return *this;
  return plain(intersection(plain_texts(), other.plain_texts(), compilation));
}

NumberSet NumberSet::unite(const NumberSet& other, Compilation& compilation) const {
  if (is_none() || other.is_all()) return other;
  if (other.is_none() || is_all()) return *this;
  if (kind_ == Kind::integers && other.kind_ == Kind::integers) return *this;
  return plain(union_of(plain_texts(), other.plain_texts(), compilation));
}

NumberSet NumberSet::invert(Compilation& compilation) const {
  if (is_none()) return all();
  if (is_all()) return none();
  return plain(difference(*all_plain(), plain_texts(), compilation));
}

}  // namespace forge::grammar
