// finite_range: a flag whose value is a number of a range.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <sstream>
#include <string>

namespace forge::apps {

/// Accepts `lowest` to `highest`; unlike CLI::Range it refuses "nan", which is neither below nor
/// above anything.
inline CLI::Validator finite_range(double lowest, double highest) {
  std::ostringstream range;
  range << lowest << " to " << highest;
  const auto check = [lowest, highest, text = range.str()](const std::string& value) {
    double number = 0;
    const bool in_range = CLI::detail::lexical_cast(value, number) && std::isfinite(number) &&
                          number >= lowest && number <= highest;
    return in_range ? std::string() : "'" + value + "' is not accepted: a number from " + text;
  };
  return CLI::Validator(check, "FLOAT in [" + range.str() + "]");
}

}  // namespace forge::apps
