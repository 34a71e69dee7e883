#include "forge/json/fields.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"

namespace forge::json {
namespace {

using Json = nlohmann::json;

const Json& no_members() {
  static const Json kNone = Json::object();
  return kNone;
}

/// An integer that fits, whichever way the parser keeps it.
std::optional<std::int64_t> integer_in(const Json& value, IntegerRange range) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  const auto integer = value.get<std::int64_t>();
  return range.contains(integer) ? std::optional(integer) : std::nullopt;
}

}  // namespace

Fields::Fields(const Json& object, std::string name, Fault& fault)
    : object_(object.is_object() ? &object : &no_members()),
      prefix_(name.empty() ? "" : name + "."),
      fault_(&fault) {
  if (object.is_object()) return;
  name = printable(name);
  fault.set(name + " is " + shown(object) + "; accepted is an object", name);
}

const Json* Fields::find(std::string_view key) const {
  if (!asked_.contains(key)) asked_.emplace(key);
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Fields::is_null(std::string_view key) const {
  return find(key) == nullptr && object_->contains(key);
}

void Fields::refuse(std::string_view key, const std::string& what) const {
  const std::string name = printable(name_of(key));
  fault_->set(name + " " + what, name);
}

void Fields::fail(std::string_view key, const std::string& accepted) const {
  const Json* const value = find(key);
  refuse(key,
         (value == nullptr ? "is missing" : "is " + shown(*value)) + "; accepted is " + accepted);
}

std::int64_t Fields::integer_64(std::string_view key, IntegerRange range,
                                std::optional<std::int64_t> fallback) const {
  const Json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  const auto integer = value == nullptr ? std::nullopt : integer_in(*value, range);
  if (!integer) fail(key, accepted(range));
  return integer.value_or(range.lowest);
}

std::uint64_t Fields::natural(std::string_view key) const {
  const Json* const value = find(key);
  if (value != nullptr && value->is_number_unsigned()) return value->get<std::uint64_t>();
  fail(key, "an integer, 0 .. " + std::to_string(UINT64_MAX));
  return 0;
}

double Fields::number(std::string_view key, NumberRange range,
                      std::optional<double> fallback) const {
  const Json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_number() || !range.contains(value->get<double>())) {
    fail(key, accepted(range));
    return range.lowest;
  }
  return value->get<double>();
}

bool Fields::boolean(std::string_view key, std::optional<bool> fallback) const {
  const Json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  fail(key, "true or false");
  return false;
}

std::string Fields::text(std::string_view key, std::optional<std::string> fallback) const {
  const Json* const value = find(key);
  if (value == nullptr && fallback) return *std::move(fallback);
  if (value == nullptr || !value->is_string()) {
    fail(key, "a text");
    return {};
  }
  const auto& text = value->get_ref<const std::string&>();
  if (text.empty() && !fallback) fail(key, "a text that is not empty");
  return text;
}

std::size_t Fields::place_in(std::span<const std::string_view> names, std::string_view key,
                             std::optional<std::size_t> fallback) const {
  const Json* const value = find(key);
  if (value == nullptr && fallback) return *fallback;
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (value != nullptr && *value == names[i]) return i;
    all += (i == 0 ? "\"" : ", \"") + std::string(names[i]) + "\"";
  }
  fail(key, all);
  return 0;
}

std::string_view Fields::one_of(std::string_view key,
                                std::initializer_list<std::string_view> accepted) const {
  return accepted.begin()[place_in({accepted.begin(), accepted.size()}, key, std::nullopt)];
}

void Fields::only(std::string_view key, const Json& value) const {
  const Json* const given = find(key);
  if (given == nullptr || *given == value) return;
  const std::string name = printable(name_of(key));
  fault_->set(name + " is " + shown(*given) + "; accepted is only " + value.dump(), name,
              Fault::Kind::unsupported);
}

std::vector<std::int64_t> Fields::integers(std::string_view key, IntegerRange range) const {
  std::vector<std::int64_t> out;
  const Json* const value = find(key);
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

std::vector<std::string> Fields::texts(std::string_view key) const {
  std::vector<std::string> out;
  const Json* const value = find(key);
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

const Json& Fields::items(std::string_view key) const {
  static const Json kNone = Json::array();
  const Json* const value = find(key);
  if (value != nullptr && value->is_array()) return *value;
  fail(key, "a list");
  return kNone;
}

std::vector<Fields> Fields::list(std::string_view key) const {
  std::vector<Fields> out;
  for (const Json& value : items(key)) {
    out.emplace_back(value, name_of(key) + "[" + std::to_string(out.size()) + "]", *fault_);
  }
  return out;
}

std::optional<Fields> Fields::object(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return Fields(*value, name_of(key), *fault_);
  fail(key, "an object");
  return std::nullopt;
}

Fields Fields::required_object(std::string_view key) const {
  if (auto found = object(key)) return *std::move(found);
  fail(key, "an object");
  return {no_members(), name_of(key), *fault_};
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : object_->items()) out.push_back(key);
  return out;
}

std::vector<Fields> Fields::objects() const {
  std::vector<Fields> out;
  for (const std::string& key : keys()) {
    if (const Json* value = find(key); value != nullptr && value->is_object()) {
      out.emplace_back(*value, name_of(key), *fault_);
    }
  }
  return out;
}

void Fields::finish() const {
  if (fault_->kind == Fault::Kind::unknown) return;
  for (const auto& [key, value] : object_->items()) {
    if (asked_.contains(key)) continue;
    const std::string name = printable(name_of(key));
    *fault_ = {"unknown field '" + name + "'", name, Fault::Kind::unknown};
    return;
  }
}

}  // namespace forge::json
