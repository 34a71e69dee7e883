#include <cmath>

#include "filters.h"
#include "format.h"
#include "numbers.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

constexpr std::int64_t kPrecisionMax = 1000;

/// What stands after the ":" of a field.
struct Specification {
  std::optional<std::string> fill;
  char align = '\0';
  bool zeros = false;  ///< numbers are filled with zeros after their sign
  char sign = '\0';
  bool alternate = false;
  std::int64_t width = 0;
  char separator = '\0';
  std::int64_t precision = -1;
  char kind = '\0';
};

std::int64_t digits_at(std::string_view& text) {
  std::int64_t value = -1;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = (value < 0 ? 0 : value) * 10 + (text[0] - '0');
    if (value > INT32_MAX) raise(Exception::value, "Too many decimal digits in format string");
    text.remove_prefix(1);
  }
  return value;
}

Specification parse_specification(std::string_view text) {
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const auto take = [&](char c) {
    if (text.empty() || text[0] != c) return false;
    text.remove_prefix(1);
    return true;
  };
  Specification spec;
  if (!text.empty()) {
    const std::size_t bytes = std::min(character_bytes(text[0]), text.size());
    if (bytes < text.size() && is_align(text[bytes])) {
      spec.fill = std::string(text.substr(0, bytes));
      spec.align = text[bytes];
      text.remove_prefix(bytes + 1);
    } else if (is_align(text[0])) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = take('#');
  if (!spec.fill && take('0')) {
    spec.fill = "0";
    spec.zeros = spec.align == '\0';
  }
  spec.width = std::max<std::int64_t>(digits_at(text), 0);
  if (take(',')) spec.separator = ',';
  if (take('_')) spec.separator = '_';
  if (take('.')) {
    spec.precision = digits_at(text);
    if (spec.precision < 0) raise(Exception::value, "Format specifier missing precision");
  }
  if (text.size() > 1) raise(Exception::value, "Invalid format specifier");
  if (!text.empty()) spec.kind = text[0];
  return spec;
}

[[noreturn]] void unknown_kind(const Value& value, char kind) {
  raise(Exception::value, std::string("Unknown format code '") + kind + "' for object of type '" +
                              type_name(value) + "'");
}

std::string digits_of_integer(const Value& value, const Specification& spec) {
  if (spec.kind == 'c') {
    std::string text;
    append_character(text, static_cast<std::uint32_t>(value.integer()));
    return text;
  }
  if (std::string_view("dnxXob").find(spec.kind) == std::string_view::npos) {
    unknown_kind(value, spec.kind);
  }
  std::string digits = integer_text(value.integer(), spec.kind);
  const bool is_decimal = spec.kind == 'd' || spec.kind == 'n';
  if (spec.separator != '\0' && is_decimal) digits = grouped(digits, spec.separator);
  if (spec.alternate && !is_decimal) digits.insert(0, std::string("0") + spec.kind);
  return digits;
}

std::string digits_of_double(const Value& value, const Specification& spec) {
  if (spec.precision > kPrecisionMax) raise(Exception::limit, "a precision above 1000");
  const double number = std::fabs(value.floating());
  const bool has_precision = spec.precision >= 0;
  const auto precision = static_cast<int>(has_precision ? spec.precision : 6);
  std::string digits;
  if (spec.kind == '\0' && !has_precision) {
    digits = repr_of_double(number);
  } else if (spec.kind == '\0') {
    digits = double_text(number, 'g', precision, false);
    if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
  } else if (spec.kind == '%') {
    digits = double_text(number * 100, 'f', precision, spec.alternate) + "%";
  } else if (spec.kind == 'n') {
    digits = double_text(number, 'g', precision, spec.alternate);
  } else if (std::string_view("eEfFgG").find(spec.kind) != std::string_view::npos) {
    digits = double_text(number, spec.kind, precision, spec.alternate);
  } else {
    unknown_kind(value, spec.kind);
  }
  return spec.separator == '\0' ? digits : grouped(digits, spec.separator);
}

std::string formatted_number(Budget& budget, const Value& value, Specification spec) {
  const bool as_double =
      !value.is_integer() ||
      (spec.kind != '\0' && std::string_view("eEfFgG%").find(spec.kind) != std::string_view::npos);
  if (!as_double && spec.kind == '\0') spec.kind = 'd';
  if (!as_double && spec.precision >= 0) {
    raise(Exception::value, "Precision not allowed in integer format specifier");
  }
  const bool negative = as_double ? std::signbit(value.floating()) && !std::isnan(value.floating())
                                  : value.integer() < 0;
  std::string text = as_double ? digits_of_double(value, spec) : digits_of_integer(value, spec);
  if (negative) {
    text.insert(0, "-");
  } else if (spec.sign == '+' || spec.sign == ' ') {
    text.insert(0, 1, spec.sign);
  }
  Padding padding;
  padding.fill = spec.fill.value_or(" ");
  padding.align = spec.zeros ? '=' : spec.align == '\0' ? '>' : spec.align;
  padding.width = spec.width;
  return padded(budget, std::move(text), padding);
}

std::string formatted(Interpreter& interpreter, const Value& value, std::string_view text) {
  if (text.empty()) return interpreter.str(value);
  const Specification spec = parse_specification(text);
  if (value.is_number()) return formatted_number(interpreter.budget(), value, spec);
  if (!value.is_string()) {
    raise_type("unsupported format string passed to " + type_name(value) + ".__format__");
  }
  if (spec.kind != '\0' && spec.kind != 's') unknown_kind(value, spec.kind);
  const char* const refused = spec.sign != '\0'        ? "Sign"
                              : spec.alternate         ? "Alternate form (#)"
                              : spec.align == '='      ? "'=' alignment"
                              : spec.separator != '\0' ? "Separator"
                                                       : nullptr;
  if (refused != nullptr) {
    raise(Exception::value, std::string(refused) + " not allowed in string format specifier");
  }
  std::string out(value.text());
  if (spec.precision >= 0) {
    std::size_t at = 0;
    for (std::int64_t left = spec.precision; left > 0 && at < out.size(); --left) {
      at += character_bytes(out[at]);
    }
    out.resize(at);
  }
  Padding padding{spec.fill.value_or(" "), spec.align == '\0' ? '<' : spec.align, spec.width};
  return padded(interpreter.budget(), std::move(out), padding);
}

class BraceFormat {
 public:
  BraceFormat(Interpreter& interpreter, const Arguments& arguments, bool markup)
      : interpreter_(interpreter), arguments_(arguments), markup_(markup) {}

  std::string run(std::string_view format, int depth = 2) {
    if (depth < 0) raise(Exception::value, "Max string recursion exceeded");
    std::string out;
    for (std::size_t at = 0; at < format.size(); ++at) {
      const char c = format[at];
      const bool is_double = at + 1 < format.size() && format[at + 1] == c;
      if ((c == '{' || c == '}') && is_double) {
        out += c;
        ++at;
      } else if (c == '}') {
        raise(Exception::value, "Single '}' encountered in format string");
      } else if (c == '{') {
        const std::size_t end = field_end(format, at + 1);
        const std::string text = field(format.substr(at + 1, end - at - 1), depth);
        interpreter_.budget().make(text.size());
        out += text;
        at = end;
      } else {
        out += c;
      }
    }
    return out;
  }

 private:
  static std::size_t field_end(std::string_view format, std::size_t at) {
    int open = 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    raise(Exception::value, "expected '}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    std::size_t end = 0;
    for (bool in_brackets = false; end < text.size(); ++end) {
      if (text[end] == '[') in_brackets = true;
      if (text[end] == ']') in_brackets = false;
      if (!in_brackets && (text[end] == '!' || text[end] == ':')) break;
    }
    Value value = field_value(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with('!')) {
      if (text.size() < 2) raise(Exception::value, "end of string while looking for conversion");
      if (text[1] == 'r' || text[1] == 'a') {
        value = interpreter_.text(repr_of(interpreter_.budget(), value));
      } else if (text[1] == 's') {
        value = interpreter_.text(interpreter_.str(value));
      } else {
        raise(Exception::value, "Unknown conversion specifier");
      }
      text.remove_prefix(2);
    }
    if (text.starts_with(':')) text.remove_prefix(1);
    std::string out = formatted(interpreter_, value, run(text, depth - 1));
    if (!markup_) return out;
    const bool is_safe = value.is_string() && value.string().markup;
    return std::string(escaped(interpreter_, interpreter_.text(std::move(out), is_safe)).text());
  }

  Value field_value(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, end));
    name.remove_prefix(end);
    while (!name.empty()) {
      if (name[0] == '.') {
        const std::size_t next = std::min(name.find_first_of(".[", 1), name.size());
        value = interpreter_.attribute(value, name.substr(1, next - 1));
        name.remove_prefix(next);
        continue;
      }
      const std::size_t close = name.find(']');
      if (name[0] != '[' || close == std::string_view::npos) {
        raise(Exception::value, "Missing ']' in format string");
      }
      const std::string_view key = name.substr(1, close - 1);
      const auto index = key.find_first_not_of("0123456789") == std::string_view::npos
                             ? parse_integer(key, 10)
                             : std::nullopt;
      value = interpreter_.item(value, index ? Value(*index) : interpreter_.text(std::string(key)));
      name.remove_prefix(close + 1);
    }
    return value;
  }

  Value argument(std::string_view name) {
    std::optional<std::int64_t> index;
    if (name.empty()) {
      if (numbering_ == Numbering::manual) {
        raise(Exception::value,
              "cannot switch from manual field specification to automatic field numbering");
      }
      numbering_ = Numbering::automatic;
      index = next_++;
    } else if (name.find_first_not_of("0123456789") == std::string_view::npos) {
      if (numbering_ == Numbering::automatic) {
        raise(Exception::value,
              "cannot switch from manual field specification to automatic field numbering");
      }
      numbering_ = Numbering::manual;
      index = parse_integer(name, 10);
    }
    if (!index) {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      raise(Exception::lookup, repr_of_text(name));
    }
    if (*index >= static_cast<std::int64_t>(arguments_.positional.size())) {
      raise(Exception::lookup, "Replacement index " + std::to_string(*index) +
                                   " out of range for positional args tuple");
    }
    return arguments_.positional[static_cast<std::size_t>(*index)];
  }

  enum class Numbering : std::uint8_t { none, automatic, manual };

  Interpreter& interpreter_;
  const Arguments& arguments_;
  bool markup_;
  Numbering numbering_ = Numbering::none;
  std::int64_t next_ = 0;
};

}  // namespace

Value brace_format(Interpreter& interpreter, const Value& format, const Arguments& arguments) {
  const bool markup = format.string().markup;
  interpreter.budget().make(format.text().size());
  BraceFormat run(interpreter, arguments, markup);
  return interpreter.text(run.run(format.text()), markup);
}

}  // namespace forge::chat::detail
