#include "json_fields.h"

#include <algorithm>
#include <utility>

namespace forge::checkpoint::detail {
namespace {

using nlohmann::json;

/// In printable ASCII, and not endless.
std::string printable(std::string text) {
  constexpr std::size_t kBytesShown = 64;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > kBytesShown) text = text.substr(0, kBytesShown) + "...";
  return text;
}

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return printable(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

/// An integer that fits, whichever way the parser keeps it.
std::optional<std::int64_t> integer_in(const json& value, model::IntegerRange range) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  const auto integer = value.get<std::int64_t>();
  return range.contains(integer) ? std::optional(integer) : std::nullopt;
}

}  // namespace

ConfigFields::ConfigFields(const json& object, std::string prefix, std::string& fault)
    : object_(object), prefix_(std::move(prefix)), fault_(fault) {}

const json* ConfigFields::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigFields::is_null(const char* key) const {
  return find(key) == nullptr && object_.contains(key);
}

void ConfigFields::fail(const char* key, const std::string& accepted) const {
  if (!fault_.empty()) return;
  const json* const value = find(key);
  fault_ = printable(prefix_ + key) + (value == nullptr ? " is missing" : " is " + shown(*value)) +
           "; accepted is " + accepted;
}

int ConfigFields::integer(const char* key, model::IntegerRange range,
                          std::optional<int> fallback) const {
  const json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  const auto integer = value == nullptr ? std::nullopt : integer_in(*value, range);
  if (!integer) fail(key, accepted(range));
  return static_cast<int>(integer.value_or(range.lowest));
}

double ConfigFields::number(const char* key, model::NumberRange range,
                            std::optional<double> fallback) const {
  const json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_number() || !range.contains(value->get<double>())) {
    fail(key, accepted(range));
    return range.lowest;
  }
  return value->get<double>();
}

bool ConfigFields::boolean(const char* key, bool fallback) const {
  const json* const value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, "true or false");
  return value->is_boolean() && value->get<bool>();
}

std::string ConfigFields::text(const char* key, std::optional<std::string> fallback) const {
  const json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  fail(key, "a text");
  return {};
}

std::string_view ConfigFields::one_of(const char* key,
                                      std::initializer_list<std::string_view> accepted) const {
  const json* const value = find(key);
  std::string all;
  for (const std::string_view one : accepted) {
    if (value != nullptr && value->is_string() && value->get_ref<const std::string&>() == one) {
      return one;
    }
    all += (all.empty() ? "\"" : ", \"") + std::string(one) + "\"";
  }
  fail(key, all);
  return *accepted.begin();
}

std::vector<std::int64_t> ConfigFields::integers(const char* key, model::IntegerRange range) const {
  std::vector<std::int64_t> out;
  const json* const value = find(key);
  if (value == nullptr) return out;
  const bool alone = !value->is_array();
  for (std::size_t i = 0; i < (alone ? 1 : value->size()); ++i) {
    const auto integer = integer_in(alone ? *value : (*value)[i], range);
    if (!integer) {
      fail(key, accepted(range) + ", or a list of them");
      return {};
    }
    out.push_back(*integer);
  }
  return out;
}

std::vector<std::string> ConfigFields::texts(const char* key) const {
  std::vector<std::string> out;
  const json* const value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) fail(key, "a list of texts");
  for (std::size_t i = 0; value->is_array() && i < value->size(); ++i) {
    if ((*value)[i].is_string()) {
      out.push_back((*value)[i].get<std::string>());
    } else {
      fail(key, "a list of texts");
    }
  }
  return out;
}

std::optional<ConfigFields> ConfigFields::object(const char* key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    fail(key, "an object");
    return std::nullopt;
  }
  return ConfigFields(*value, prefix_ + key + ".", fault_);
}

std::vector<ConfigFields> ConfigFields::objects() const {
  std::vector<ConfigFields> out;
  for (const auto& [key, value] : object_.items()) {
    if (value.is_object()) out.emplace_back(value, prefix_ + key + ".", fault_);
  }
  return out;
}

}  // namespace forge::checkpoint::detail
