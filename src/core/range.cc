#include "forge/core/range.h"

#include <charconv>

namespace forge {

std::string number_text(double value) {
  char text[32];  // the longest double has 24 characters
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string to_string(const IntegerRange& range) {
  const std::string lowest = std::to_string(range.lowest);
  return range.lowest == range.highest ? lowest : lowest + " .. " + std::to_string(range.highest);
}

std::string to_string(const NumberRange& range) {
  const std::string lowest = number_text(range.lowest);
  return lowest == number_text(range.highest) ? lowest
                                              : lowest + " .. " + number_text(range.highest);
}

std::string accepted(const IntegerRange& range) {
  return (range.lowest == range.highest ? "" : "an integer, ") + to_string(range);
}

std::string accepted(const NumberRange& range) {
  return (to_string(range) == number_text(range.lowest) ? "" : "a number, ") + to_string(range);
}

std::string to_string(const ConfigError& error) {
  return error.name + " is " + error.value + ", accepted: " + error.accepted;
}

tl::expected<void, ConfigError> validate(std::initializer_list<RangedField> fields) {
  for (const RangedField& field : fields) {
    if (field.is_right) continue;
    return tl::unexpected(ConfigError{field.name, field.value, field.accepted});
  }
  return {};
}

}  // namespace forge
