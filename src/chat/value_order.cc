// Which values are equal, which is less.
#include <cmath>

#include "value.h"

namespace forge::chat::detail {
namespace {

/// int against float, exactly, as Python compares them: -1, 0 or 1; 2 where one is not a number.
int compare_numbers(const Value& a, const Value& b) {
  constexpr int kUnordered = 2;
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a.is_integer() && b.is_integer()) return sign(a.integer(), b.integer());
  if (a.is(Kind::floating) && b.is(Kind::floating)) {
    if (std::isnan(a.floating()) || std::isnan(b.floating())) return kUnordered;
    return sign(a.floating(), b.floating());
  }
  if (a.is(Kind::floating)) {
    const int reversed = compare_numbers(b, a);
    return reversed == kUnordered ? kUnordered : -reversed;
  }
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const double right = b.floating();
  if (std::isnan(right)) return kUnordered;
  if (right >= kTwoTo63) return -1;
  if (right < -kTwoTo63) return 1;
  const double whole = std::floor(right);
  const int against_whole = sign(a.integer(), static_cast<std::int64_t>(whole));
  return against_whole == 0 && right > whole ? -1 : against_whole;
}

bool equal_sequences(Budget& budget, const Sequence& a, const Sequence& b) {
  if (a.elements.size() != b.elements.size()) return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (!equal(budget, a.elements[i], b.elements[i])) return false;
  }
  return true;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.members.size() != b.members.size()) return false;
  for (const auto& [key, value] : a.members) {
    const std::size_t at = b.find(budget, key);
    if (at == b.members.size() || !equal(budget, value, b.members[at].second)) return false;
  }
  return true;
}

/// keys() and items() compare as sets.
bool equal_sets(Budget& budget, const Sequence& a, const Sequence& b) {
  if (a.elements.size() != b.elements.size()) return false;
  for (const Value& element : a.elements) {
    bool found = false;
    for (std::size_t i = 0; i < b.elements.size() && !found; ++i) {
      found = equal(budget, element, b.elements[i]);
    }
    if (!found) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  if (a.count != b.count) return false;
  if (a.count == 0) return true;
  return a.start == b.start && (a.count == 1 || a.step == b.step);
}

}  // namespace

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.object() != nullptr || b.object() != nullptr) return a.object() == b.object();
  if (a.is(Kind::floating)) return a.floating() == b.floating();
  return a.integer() == b.integer();
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  if (a.object() != nullptr && a.object() == b.object()) return true;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      return a.text() == b.text();
    case Kind::list:
    case Kind::tuple:
      return equal_sequences(budget, a.sequence(), b.sequence());
    case Kind::keys:
    case Kind::items:
      return equal_sets(budget, a.sequence(), b.sequence());
    case Kind::dict:
      return equal_dicts(budget, a.dict(), b.dict());
    case Kind::range:
      return equal_ranges(a.range(), b.range());
    case Kind::function: {
      const Function& left = a.function();
      const Function& right = b.function();
      return left.native == right.native && left.name == right.name && same(left.self, right.self);
    }
    default:
      return false;
  }
}

bool less(Budget& budget, const Value& a, const Value& b, const char* symbol) {
  budget.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == -1;
  if (a.is(Kind::undefined)) raise(Exception::undefined, a.undefined().message);
  if (b.is(Kind::undefined)) raise(Exception::undefined, b.undefined().message);
  if (a.is_string() && b.is_string()) return a.text() < b.text();  // UTF-8 keeps the order
  if (a.kind() == b.kind() && (a.is(Kind::list) || a.is(Kind::tuple))) {
    const auto& left = a.sequence().elements;
    const auto& right = b.sequence().elements;
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
      if (!equal(budget, left[i], right[i])) return less(budget, left[i], right[i], symbol);
    }
    return left.size() < right.size();
  }
  raise_type("'" + std::string(symbol) + "' not supported between instances of '" + type_name(a) +
             "' and '" + type_name(b) + "'");
}

void check_hashable(const Value& value) {
  if (value.is(Kind::tuple)) {
    for (const Value& element : value.sequence().elements) check_hashable(element);
  } else if (value.is(Kind::list) || value.is(Kind::dict) || value.is_sequence()) {
    raise_type("unhashable type: '" + type_name(value) + "'");
  }
}

}  // namespace forge::chat::detail
