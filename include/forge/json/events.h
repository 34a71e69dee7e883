// Reads untrusted JSON event by event: only what the visitor keeps is kept.
//
// A parser for all purposes nests as deep as the text does, which costs 70 bytes for each "[" of
// it, takes the last of two equal keys and stops at a zero byte without a word. Here depth has a
// limit, a zero byte is refused, and a visitor sees both keys. It stops the reading at the first
// event that does not belong where it stands, so nothing is built from there on.
//
// Texts within the JSON are valid UTF-8; others are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

namespace forge::json {

/// The deepest nesting of objects and arrays: several times what configurations have.
inline constexpr int kDepthMax = 32;

/// Why a text was refused.
struct ParseError {
  std::string message;                ///< what the text is or has: "is not JSON in or right ..."
  std::optional<std::uint64_t> byte;  ///< offset in the text, if known

  friend bool operator==(const ParseError&, const ParseError&) = default;
};

/// "at byte 4: is not JSON in or right after '[1] ['"
std::string to_string(const ParseError& error);

/// A number that is not a 64-bit integer; `text` is the number as written.
struct Fraction {
  double value = 0;
  std::string_view text;
};
/// The first event of an object or an array; the members follow.
struct Object {};
struct Array {};
/// A value. Texts are borrowed for the time of the call. An int64_t is below 0.
using Value = std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, Fraction,
                           std::string_view, Object, Array>;

/// What visit() calls: key() before each value of an object, end() after the last value of an
/// object or array. Each answers whether to go on; fail() answers no.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual bool key(std::string_view key) = 0;
  virtual bool value(const Value& value) = 0;
  virtual bool end() = 0;

  ParseError& error() { return error_; }

 protected:
  bool fail(std::string message) {
    error_.message = std::move(message);
    return false;
  }

 private:
  ParseError error_;
};

/// Errors: `text` is not one JSON value; it has a zero byte or a number beyond those of a double;
/// it nests deeper than `depth_max`; the visitor failed.
tl::expected<void, ParseError> visit(std::string_view text, int depth_max, Visitor& visitor);

}  // namespace forge::json
