#include "config_difference.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "forge/core/range.h"
#include "forge/model/config_fields.h"

namespace forge::checkpoint::detail {
namespace {

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return number_text(static_cast<double>(value));
  } else {
    std::string list = "[";
    for (const auto element : value) list += " " + number_text(static_cast<double>(element));
    return list + " ]";
  }
}

struct Value {
  std::string field;  ///< visit_fields gives it for the time of the call
  std::string text;
  double fraction = 0;  ///< where it is one
};

std::vector<Value> values_of(const model::ModelConfig& model) {
  std::vector<Value> values;
  visit_fields(model, [&](const char* field, const auto& value) {
    values.push_back({field, text_of(value)});
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>) {
      values.back().fraction = double{value};
    }
  });
  return values;
}

bool are_equal(const Value& a, const Value& b, double rounding) {
  return a.text == b.text ||
         (a.fraction != 0 && std::abs(a.fraction - b.fraction) <= rounding * std::abs(a.fraction));
}

std::string shown(const std::string& text) {
  constexpr std::size_t kBytesShown = 64;
  return text.size() <= kBytesShown ? text : text.substr(0, kBytesShown) + "...";
}

}  // namespace

std::optional<std::string> difference(const model::ModelConfig& written,
                                      const model::ModelConfig& read, double rounding) {
  const std::vector<Value> before = values_of(written);
  const std::vector<Value> after = values_of(read);
  std::string all;
  // Where alternatives differ, so do the fields from there on.
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].field != after[i].field) break;
    if (are_equal(before[i], after[i], rounding)) continue;
    all.append(all.empty() ? "" : "; ").append(before[i].field);
    all += " is " + shown(before[i].text) + " and would be read as " + shown(after[i].text);
  }
  return all.empty() ? std::nullopt : std::optional(all);
}

}  // namespace forge::checkpoint::detail
