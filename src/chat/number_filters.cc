// Filters of numbers.
#include <array>
#include <cmath>

#include "filters.h"
#include "format.h"
#include "numbers.h"

namespace forge::chat::detail {
namespace {

[[noreturn]] void raise_undefined(const Value& value) {
  raise(Exception::undefined, value.undefined().message);
}

Value absolute(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  if (!value.is_number()) raise_type("bad operand type for abs(): '" + type_name(value) + "'");
  if (!value.is_integer()) return Value(std::fabs(value.floating()));
  return value.integer() < 0 ? negated(value) : Value(value.integer());
}

/// int(value, base), or nothing where that fails as int() may.
std::optional<std::int64_t> integer_from(const Value& value, std::int64_t base) {
  if (value.is_integer()) return value.integer();
  if (value.is(Kind::undefined)) raise_undefined(value);
  std::optional<double> number;
  if (value.is_string()) {
    if (const auto whole = parse_integer(value.text(), static_cast<int>(base))) return whole;
    number = parse_double(value.text());
  } else if (value.is(Kind::floating)) {
    if (std::isinf(value.floating())) truncated(value.floating());
    number = value.floating();
  }
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return truncated(*number);
}

Value to_integer(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"default", "base"});
  const std::int64_t base = given.integer(1, 10);
  const bool is_base = base == 0 || (base >= 2 && base <= 36);
  if (const auto integer = integer_from(value, is_base ? base : 10)) return Value(*integer);
  return given.at(0) == nullptr ? Value(std::int64_t{0}) : given.required(0);
}

Value to_double(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"default"});
  if (value.is_number()) return Value(value.floating());
  if (value.is(Kind::undefined)) raise_undefined(value);
  if (value.is_string()) {
    if (const auto number = parse_double(value.text())) return Value(*number);
  }
  return given.at(0) == nullptr ? Value(0.0) : given.required(0);
}

/// round(value, digits) of an integer, half to even.
Value rounded_integer(const Value& value, std::int64_t digits) {
  constexpr std::int64_t kDigitsMax = 18;
  if (digits >= 0) return Value(value.integer());
  if (-digits > kDigitsMax) return Value(std::int64_t{0});
  std::int64_t scale = 1;
  for (; digits < 0; ++digits) scale *= 10;
  const std::int64_t number = value.integer();
  std::int64_t rest = number % scale;
  if (rest < 0) rest += scale;
  std::int64_t result = number - rest;
  const bool is_odd = (result / scale) % 2 != 0;
  if (rest * 2 > scale || (rest * 2 == scale && is_odd)) result += scale;
  return Value(result);
}

Value round(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"precision", "method"});
  const std::int64_t precision = given.integer(0, 0);
  const std::string_view method = given.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor") {
    raise(Exception::other, "method must be common, ceil or floor");
  }
  if (value.is(Kind::undefined)) raise_undefined(value);
  if (!value.is_number()) {
    raise_type("type " + type_name(value) + " doesn't define __round__ method");
  }
  if (method == "common") {
    if (value.is_integer()) return rounded_integer(value, precision);
    return Value(rounded(value.floating(), precision));
  }
  const Value ten(std::int64_t{10});
  const Value scale = arithmetic("**", ten, Value(precision));
  const Value scaled = arithmetic("*", value, scale);
  const Value whole(scaled.is_integer()
                        ? scaled.integer()
                        : truncated(method == "ceil" ? std::ceil(scaled.floating())
                                                     : std::floor(scaled.floating())));
  return arithmetic("/", whole, scale);
}

Value sum(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"attribute", "start"});
  const AttributePath path(interpreter, given.at(0));
  Value total = given.at(1) == nullptr ? Value(std::int64_t{0}) : given.required(1);
  if (total.is_string()) raise_type("sum() can't sum strings [use ''.join(seq) instead]");
  Iteration elements(interpreter.budget(), value);
  while (const auto element = elements.next()) {
    total = binary(interpreter, "+", total, path.of(*element));
  }
  return total;
}

Value file_size(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"binary"});
  const bool is_binary = given.boolean(0, false);
  constexpr std::array<std::string_view, 8> kDecimal = {"kB", "MB", "GB", "TB",
                                                        "PB", "EB", "ZB", "YB"};
  constexpr std::array<std::string_view, 8> kBinary = {"KiB", "MiB", "GiB", "TiB",
                                                       "PiB", "EiB", "ZiB", "YiB"};
  Arguments none;
  const double bytes = to_double(interpreter, value, none).floating();
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return interpreter.text("1 Byte");
  if (bytes < base) return interpreter.text(std::to_string(truncated(bytes)) + " Bytes");
  double unit = base * base;
  std::size_t i = 0;
  for (; i + 1 < kDecimal.size() && bytes >= unit; ++i) unit *= base;
  return interpreter.text(double_text(base * bytes / unit, 'f', 1, false) + " " +
                          std::string(is_binary ? kBinary[i] : kDecimal[i]));
}

constexpr NamedFilter kNumberFilterTable[] = {
    {"abs", absolute},    {"filesizeformat", file_size},
    {"float", to_double}, {"int", to_integer},
    {"round", round},     {"sum", sum},
};

}  // namespace

const std::span<const NamedFilter> kNumberFilters = kNumberFilterTable;

}  // namespace forge::chat::detail
