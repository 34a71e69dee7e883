#include "json_fields.h"

#include <utility>

#include "in_quotes.h"

namespace forge::text::detail {

using nlohmann::json;

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return in_quotes(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

TokenizerFields::TokenizerFields(const json& object, std::string name, JsonFault& fault)
    : object_(object), name_(std::move(name)), fault_(fault) {
  if (!object.is_object()) fault.set(name_ + " must be an object, it is " + shown(object));
}

const json* TokenizerFields::find(std::string_view key) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void TokenizerFields::wrong(std::string_view key, std::string_view accepted) const {
  const json* value = find(key);
  fault_.set(name_of(key) + " is " + (value == nullptr ? "absent" : shown(*value)) +
             ", accepted: " + std::string(accepted));
}

bool TokenizerFields::boolean(std::string_view key, bool otherwise) const {
  const json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) wrong(key, "true, false");
  return value->is_boolean() ? value->get<bool>() : otherwise;
}

std::string_view TokenizerFields::text(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_string()) wrong(key, "a text");
  return value->is_string() ? std::string_view(value->get_ref<const std::string&>()) : "";
}

std::uint64_t TokenizerFields::integer(std::string_view key) const {
  const json* value = find(key);
  const bool valid = value != nullptr && value->is_number_unsigned();
  if (!valid) wrong(key, "an integer from 0");
  return valid ? value->get<std::uint64_t>() : 0;
}

const json& TokenizerFields::object(std::string_view key) const {
  static const json kNone = json::object();
  const json* value = find(key);
  const bool valid = value != nullptr && value->is_object();
  if (!valid) wrong(key, "an object");
  return valid ? *value : kNone;
}

const json& TokenizerFields::array(std::string_view key) const {
  static const json kNone = json::array();
  const json* value = find(key);
  const bool valid = value != nullptr && value->is_array();
  if (!valid) wrong(key, "an array");
  return valid ? *value : kNone;
}

void TokenizerFields::only(std::string_view key, const json& value) const {
  const json* given = find(key);
  if (given != nullptr && *given != value) wrong(key, "only " + shown(value));
}

}  // namespace forge::text::detail
