#include "gguf_fields.h"

namespace forge::checkpoint::detail {

int GgufFields::integer(const std::string& key, IntegerRange range, std::optional<int> fallback) {
  if (!has(key) && fallback) return *fallback;
  const auto value = gguf_.integer(prefix_ + key);
  if (!value || !range.contains(*value)) {
    fail(key, accepted(range));
    return static_cast<int>(range.lowest);
  }
  return static_cast<int>(*value);
}

double GgufFields::number(const std::string& key, NumberRange range,
                          std::optional<double> fallback) {
  if (!has(key) && fallback) return *fallback;
  const auto value = gguf_.number(prefix_ + key);
  if (!value || !range.contains(*value)) {
    fail(key, accepted(range));
    return range.lowest;
  }
  return *value;
}

bool GgufFields::boolean(const std::string& key, bool fallback) {
  if (!has(key)) return fallback;
  const auto value = gguf_.boolean(prefix_ + key);
  if (!value) fail(key, "a boolean");
  return value.value_or(fallback);
}

std::string GgufFields::text(const std::string& key, const std::string& fallback) {
  if (!has(key)) return fallback;
  const auto value = gguf_.text(prefix_ + key);
  if (!value) fail(key, "a text");
  return std::string(value.value_or(fallback));
}

void GgufFields::fail(const std::string& key, const std::string& accepted) {
  const formats::GgufValue* const value = gguf_.value(prefix_ + key);
  fail_with(prefix_ + key + (value == nullptr ? " is missing" : " is " + to_string(*value)) +
            "; accepted is " + accepted);
}

void GgufFields::fail_with(const std::string& message) {
  if (!fault_) fault_ = formats::FileError{gguf_.file().path(), message, {}, std::nullopt};
}

}  // namespace forge::checkpoint::detail
