// Decimal: a number of JSON, exactly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::grammar {

/// -12.5 is {true, "12", "5"}. No zeros before the first digit or after the last; zero has no
/// digits and no sign, so equal numbers are equal values.
struct Decimal {
  bool negative = false;
  std::string whole;
  std::string fraction;

  bool is_zero() const { return whole.empty() && fraction.empty(); }
  friend auto operator<=>(const Decimal&, const Decimal&) = default;
};

/// nullopt where it has more than 1000 digits without an exponent. Requires: a number of JSON.
std::optional<Decimal> decimal_of(std::string_view json_number);

}  // namespace forge::grammar
