// JsonFields: reads the fields of one JSON object and keeps the first thing that is wrong.
//
// Example, given `std::string_view body`:
//
//   auto object = parse_json_object(body);
//   if (!object) return tl::unexpected(object.error());
//   JsonFields fields(*object);
//   const auto tokens = fields.integer("max_tokens", 16, {1, 100});
//   fields.boolean("stream", false);
//   if (auto error = fields.finish()) return tl::unexpected(*error);
//
// A reader that meets something wrong returns the default, so that a parser reads like a list of
// its fields; nothing may be used before finish() has said that there was no error. What was never
// asked for is unknown, and an error too: most often a typing error, so it is reported first.
//
// Borrows the object. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/serve/api_error.h"

namespace forge::serve {

/// Parses `text`, which must be one JSON object: valid UTF-8, no key twice in an object, at most
/// 32 levels deep, no number that a double cannot hold. Errors: 400.
tl::expected<nlohmann::json, ApiError> parse_json_object(std::string_view text);

/// "the string \"abc\"", "the number -5", "an array of 3": a value as an error names it.
std::string describe(const nlohmann::json& value);

/// 400 about `param`.
ApiError bad_field(std::string_view param, std::string message,
                   std::optional<std::string> code = std::nullopt);

class JsonFields {
 public:
  struct IntegerRange {
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
  };
  struct NumberRange {
    double lowest = 0;
    double highest = 0;
  };

  /// `path` is what stands before a field's name in errors ("stream_options.").
  explicit JsonFields(const nlohmann::json& object, std::string path = "");

  // Each: the field's value, or `otherwise` if it is absent or null.
  std::int64_t integer(std::string_view name, std::int64_t otherwise, IntegerRange range);
  double number(std::string_view name, double otherwise, NumberRange range);
  bool boolean(std::string_view name, bool otherwise);
  /// One of `names`, as its place in them.
  std::size_t choice(std::string_view name, std::size_t otherwise,
                     std::span<const std::string_view> names);

  /// The value as it stands; none if the field is absent or null.
  const nlohmann::json* value(std::string_view name);

  /// The same, and an error if there is none.
  const nlohmann::json* required(std::string_view name, std::string_view accepted);

  /// A field that exists in OpenAI's API and does nothing at `neutral`: any other value but null
  /// is refused.
  void only(std::string_view name, const nlohmann::json& neutral);

  void fail(ApiError error);
  bool failed() const { return error_.has_value(); }

  /// The error, if there was one.
  std::optional<ApiError> finish() const;

 private:
  /// Also for a value of the right type that is out of range.
  void not_accepted(std::string_view name, std::string_view accepted, const nlohmann::json& found);

  const nlohmann::json& object_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
  std::optional<ApiError> error_;
};

}  // namespace forge::serve
