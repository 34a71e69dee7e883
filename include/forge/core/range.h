// Range: which numbers are accepted, and how an error says so.
//
// The ranges of a configuration's fields stand beside the fields (scheduler_config.h,
// model/ranges.h); code that reads a number from outside asks the same range that validate() asks.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace forge {

/// The integers from `lowest` to `highest`, both included.
struct IntegerRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  constexpr bool contains(std::int64_t value) const { return lowest <= value && value <= highest; }
};
struct NumberRange {
  double lowest = 0;
  double highest = 0;
  constexpr bool contains(double value) const {  // never NaN
    return lowest <= value && value <= highest;
  }
};

/// Shortest text that is read back as the same number: "0.001", "1e+06".
std::string number_text(double value);

/// "1 .. 1024", or "4" alone
std::string to_string(const IntegerRange& range);
std::string to_string(const NumberRange& range);

/// "an integer, 1 .. 1024", or "4" alone
std::string accepted(const IntegerRange& range);
std::string accepted(const NumberRange& range);

/// A field of a configuration that is not what is accepted.
struct ConfigError {
  std::string name;
  std::string value;
  std::string accepted;

  friend bool operator==(const ConfigError&, const ConfigError&) = default;
};
/// "num_blocks is 0, accepted: 1 .. 4194304"
std::string to_string(const ConfigError& error);

/// The name, the value and the range of a field.
struct RangedField {
  template <std::integral T>
  RangedField(const char* its_name, T its_value, const IntegerRange& its_range)
      : name(its_name),
        value(std::to_string(its_value)),
        accepted(to_string(its_range)),
        is_right(std::in_range<std::int64_t>(its_value) &&
                 its_range.contains(static_cast<std::int64_t>(its_value))) {}
  RangedField(const char* its_name, double its_value, const NumberRange& its_range)
      : name(its_name),
        value(number_text(its_value)),
        accepted(to_string(its_range)),
        is_right(its_range.contains(its_value)) {}

  const char* name;
  std::string value;
  std::string accepted;
  bool is_right;
};
/// Errors: the first field that is out of its range.
tl::expected<void, ConfigError> validate(std::initializer_list<RangedField> fields);

}  // namespace forge
