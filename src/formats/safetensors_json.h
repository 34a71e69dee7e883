// JSON from a stranger, event by event: nothing is kept that the visitor does not keep.
//
// A parser that builds a tree takes the last of two equal keys and nests as deep as the text does;
// a visitor sees both keys and refuses what does not belong where it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

namespace forge::formats::detail {

/// An integer below 0 or above 2^64 - 1, or a fraction: as the text has it.
struct JsonOtherNumber {
  std::string text;
};
/// The first of an object or an array, whose members follow.
struct JsonObject {};
struct JsonArray {};
/// A text is borrowed for the time of the call.
using JsonValue = std::variant<std::nullptr_t, bool, std::uint64_t, JsonOtherNumber,
                               std::string_view, JsonObject, JsonArray>;

/// As an error shows it: "-1", "'pt'", "an object".
std::string shown_json(const JsonValue& value);

struct JsonFault {
  std::string message;
  std::string name;                   ///< of the tensor concerned, or empty
  std::optional<std::uint64_t> byte;  ///< of the text
};

/// What read_json calls: key() before each value of an object, end() after the last value of an
/// object or array. Each answers whether to go on; fail() answers no.
class JsonVisitor {
 public:
  virtual ~JsonVisitor() = default;
  virtual bool key(std::string_view key) = 0;
  virtual bool value(const JsonValue& value) = 0;
  virtual bool end() = 0;

  JsonFault& fault() { return fault_; }

 protected:
  bool fail(std::string message, std::string_view name = {});

 private:
  JsonFault fault_;
};

/// The deepest nesting of objects and arrays.
inline constexpr int kJsonDepthMax = 16;

/// Errors: the text is not one JSON value, nests deeper than kJsonDepthMax, or the visitor failed.
tl::expected<void, JsonFault> read_json(std::string_view text, JsonVisitor& visitor);

}  // namespace forge::formats::detail
