#include "json_fields.h"

#include <cstdint>
#include <locale>
#include <sstream>
#include <utility>
#include <vector>

namespace forge::serve {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 32;
constexpr std::size_t kDescribedBytesMax = 60;

/// Watches a parse for what the JSON grammar allows and this API does not.
class ParseGuard {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (too_deep_) return false;
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      too_deep_ = depth >= kDepthMax;
      if (event == Event::object_start) keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second && !twice_) twice_ = key;
    }
    return !too_deep_;
  }

  bool too_deep() const { return too_deep_; }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::optional<std::string> twice_;
  bool too_deep_ = false;
};

/// The library's message without its own name and number: "[json.exception...] parse error ...". It
/// quotes the whole token at fault.
std::string plain_message(const json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.find("] ");
  return shortened(end == std::string_view::npos ? text : text.substr(end + 2));
}

std::string text_of(double number) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << number;
  return out.str();
}

}  // namespace

std::string describe(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::array:
      return "an array of " + std::to_string(value.size());
    case json::value_t::object:
      return "an object";
    default:
      break;
  }
  // ASCII, so that it can be cut anywhere.
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kDescribedBytesMax) text = text.substr(0, kDescribedBytesMax) + "...";
  return std::string("the ") + value.type_name() + " " + text;
}

ApiError bad_field(std::string_view param, std::string message, std::optional<std::string> code) {
  return {.status = 400,
          .message = std::move(message),
          .param = std::string(param),
          .code = std::move(code)};
}

tl::expected<json, ApiError> parse_json_object(std::string_view text) {
  if (text.empty()) {
    return tl::unexpected(request_error(400, "the body is empty: a JSON object is expected"));
  }
  ParseGuard guard;
  const auto watch = [&guard](int depth, json::parse_event_t event, json& parsed) {
    return guard(depth, event, parsed);
  };
  json value;
  try {
    value = json::parse(text, watch);
  } catch (const json::exception& error) {
    return tl::unexpected(
        request_error(400, "the body is not valid JSON: " + plain_message(error)));
  }
  if (guard.too_deep()) {
    return tl::unexpected(request_error(
        400, "the body is nested deeper than " + std::to_string(kDepthMax) + " levels"));
  }
  if (guard.twice()) {
    const std::string name = shortened(*guard.twice());
    return tl::unexpected(bad_field(name, "'" + name + "' is given twice"));
  }
  if (!value.is_object()) {
    return tl::unexpected(
        request_error(400, "the body must be a JSON object, got " + describe(value)));
  }
  return value;
}

JsonFields::JsonFields(const json& object, std::string path)
    : object_(object), path_(std::move(path)) {}

std::int64_t JsonFields::integer(std::string_view name, std::int64_t otherwise,
                                 IntegerRange range) {
  const json* found = value(name);
  if (found == nullptr) return otherwise;
  const std::string accepted =
      "an integer from " + std::to_string(range.lowest) + " to " + std::to_string(range.highest);
  if (!found->is_number_integer()) {
    not_accepted(name, accepted, *found);
    return otherwise;
  }
  // Above the signed range the library holds an unsigned number.
  const bool too_high = found->is_number_unsigned() &&
                        found->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  const auto number = found->get<std::int64_t>();
  if (too_high || number < range.lowest || number > range.highest) {
    not_accepted(name, accepted, *found);
    return otherwise;
  }
  return number;
}

double JsonFields::number(std::string_view name, double otherwise, NumberRange range) {
  const json* found = value(name);
  if (found == nullptr) return otherwise;
  const double number = found->is_number() ? found->get<double>() : 0;
  if (!found->is_number() || number < range.lowest || number > range.highest) {
    not_accepted(name, "a number from " + text_of(range.lowest) + " to " + text_of(range.highest),
                 *found);
    return otherwise;
  }
  return number;
}

bool JsonFields::boolean(std::string_view name, bool otherwise) {
  const json* found = value(name);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) {
    not_accepted(name, "true or false", *found);
    return otherwise;
  }
  return found->get<bool>();
}

std::size_t JsonFields::choice(std::string_view name, std::size_t otherwise,
                               std::span<const std::string_view> names) {
  const json* found = value(name);
  if (found == nullptr) return otherwise;
  std::string accepted = "one of";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (*found == names[i]) return i;
    accepted += (i == 0 ? " \"" : ", \"") + std::string(names[i]) + "\"";
  }
  not_accepted(name, accepted, *found);
  return otherwise;
}

const json* JsonFields::value(std::string_view name) {
  asked_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const json* JsonFields::required(std::string_view name, std::string_view accepted) {
  const json* found = value(name);
  if (found == nullptr) {
    fail(bad_field(path_ + std::string(name),
                   "'" + path_ + std::string(name) + "' is required: " + std::string(accepted)));
  }
  return found;
}

void JsonFields::only(std::string_view name, const json& neutral) {
  const json* found = value(name);
  if (found == nullptr || *found == neutral) return;
  const std::string full = path_ + std::string(name);
  fail(bad_field(full,
                 "'" + full + "' is not supported: got " + describe(*found) + ", accepted are " +
                     (neutral.is_null() ? "" : neutral.dump() + " and ") + "null",
                 "unsupported_parameter"));
}

void JsonFields::fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

std::optional<ApiError> JsonFields::finish() const {
  for (const auto& [name, _] : object_.items()) {
    if (asked_.contains(name)) continue;
    const std::string full = path_ + shortened(name);
    return bad_field(full, "unknown field '" + full + "'", "unknown_parameter");
  }
  return error_;
}

void JsonFields::not_accepted(std::string_view name, std::string_view accepted, const json& found) {
  const std::string full = path_ + std::string(name);
  fail(bad_field(full,
                 "'" + full + "' must be " + std::string(accepted) + ", got " + describe(found)));
}

}  // namespace forge::serve
