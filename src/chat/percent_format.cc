#include <algorithm>
#include <cmath>

#include "filters.h"
#include "format.h"
#include "numbers.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

constexpr std::int64_t kPrecisionMax = 1000;

/// One %, with all that stands before its letter.
struct Conversion {
  bool left = false;
  bool zero = false;
  bool alternate = false;
  char sign = '\0';
  std::int64_t width = 0;
  std::int64_t precision = -1;
};

class PercentFormat {
 public:
  PercentFormat(Interpreter& interpreter, const Value& format, const Value& values)
      : interpreter_(interpreter),
        format_(format.text()),
        markup_(format.string().markup),
        values_(values) {}

  std::string run() {
    while (at_ < format_.size()) {
      if (format_[at_] != '%') {
        out_ += format_[at_++];
        continue;
      }
      ++at_;
      conversion();
    }
    const bool is_mapping = values_.is(Kind::dict) || values_.is(Kind::list);
    if (values_.is(Kind::tuple) ? used_ < values_.sequence().elements.size()
                                : used_ == 0 && !is_mapping && !named_) {
      raise_type("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  char peek() const {
    if (at_ < format_.size()) return format_[at_];
    raise(Exception::value, "incomplete format");
  }

  [[noreturn]] static void unsupported(std::string_view letter) {
    raise(Exception::value, "unsupported format character '" + std::string(letter) + "'");
  }

  Value next_value() {
    if (values_.is(Kind::tuple)) {
      const auto& elements = values_.sequence().elements;
      if (used_ < elements.size()) return elements[used_++];
    } else if (used_ == 0) {
      ++used_;
      return values_;
    }
    raise_type("not enough arguments for format string");
  }

  std::int64_t number() {
    if (peek() == '*') {
      ++at_;
      return integer_of(next_value());
    }
    std::int64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + (format_[at_++] - '0');
      if (value > INT32_MAX) raise(Exception::value, "width too big");
    }
    return value;
  }

  std::optional<Value> key() {
    if (peek() != '(') return std::nullopt;
    const std::size_t start = ++at_;
    for (int open = 1; open > 0; ++at_) {
      if (at_ >= format_.size()) raise(Exception::value, "incomplete format key");
      open += format_[at_] == '(' ? 1 : format_[at_] == ')' ? -1 : 0;
    }
    named_ = true;
    if (!values_.is(Kind::dict)) raise_type("format requires a mapping");
    const std::string_view name = format_.substr(start, at_ - 1 - start);
    if (const Value* const value = values_.dict().find(name)) return *value;
    raise(Exception::lookup, repr_of_text(name));
  }

  void conversion() {
    Conversion spec;
    std::optional<Value> value = key();
    for (bool is_flag = true; is_flag;) {
      switch (peek()) {
        case '-':
          spec.left = true;
          break;
        case '0':
          spec.zero = true;
          break;
        case '#':
          spec.alternate = true;
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          break;
        default:
          is_flag = false;
      }
      if (is_flag) ++at_;
    }
    spec.width = number();
    if (spec.width < 0) {
      spec.left = true;
      spec.width = -spec.width;
    }
    if (peek() == '.') {
      ++at_;
      spec.precision = std::max<std::int64_t>(number(), 0);
    }
    while (peek() == 'h' || peek() == 'l' || peek() == 'L') ++at_;
    peek();
    const std::string_view letter = format_.substr(at_, character_bytes(format_[at_]));
    if (letter.size() > 1) unsupported(letter);
    const char kind = format_[at_++];
    if (kind == '%') {
      out_ += '%';
      return;
    }
    if (!value) value = next_value();
    add(*value, kind, spec);
  }

  void add(const Value& value, char kind, const Conversion& spec) {
    Padding padding;
    padding.width = spec.width;
    padding.align = spec.left ? '<' : '>';
    std::string text;
    if (kind == 's' || kind == 'r' || kind == 'a') {
      text = text_for(value, kind);
      if (spec.precision >= 0) cut(text, spec.precision);
    } else if (kind == 'c') {
      text = character(value);
    } else {
      text = number_for(value, kind, spec);
      if (spec.zero && !spec.left) {
        padding.align = '=';
        padding.fill = "0";
      }
    }
    out_ += padded(interpreter_.budget(), std::move(text), padding);
    interpreter_.budget().make(out_.size() / 8);
  }

  std::string text_for(const Value& value, char kind) {
    if (kind != 's') return repr_of(interpreter_.budget(), value);
    if (markup_) return std::string(escaped(interpreter_, value).text());
    return interpreter_.str(value);
  }

  static void cut(std::string& text, std::int64_t most) {
    std::size_t at = 0;
    for (; most > 0 && at < text.size(); --most) at += character_bytes(text[at]);
    text.resize(std::min(at, text.size()));
  }

  static std::string character(const Value& value) {
    std::string text;
    if (value.is_integer()) {
      if (value.integer() < 0 || value.integer() > 0x10FFFF) {
        raise(Exception::overflow, "%c arg not in range(0x110000)");
      }
      append_character(text, static_cast<std::uint32_t>(value.integer()));
      return text;
    }
    if (!value.is_string() || value.string().characters != 1) {
      raise_type("%c requires int or char");
    }
    return std::string(value.text());
  }

  static std::string number_for(const Value& value, char kind, const Conversion& spec) {
    const bool is_integer = std::string_view("diuxXo").find(kind) != std::string_view::npos;
    const bool is_double = std::string_view("eEfFgG").find(kind) != std::string_view::npos;
    if (!is_integer && !is_double) {
      unsupported({&kind, 1});
    }
    const bool is_decimal = kind == 'd' || kind == 'i' || kind == 'u';
    const bool accepted = is_double || is_decimal ? value.is_number() : value.is_integer();
    if (!accepted) {
      raise_type(is_double ? "must be real number, not " + type_name(value)
                           : std::string("%") + kind +
                                 " format: " + (is_decimal ? "a real number" : "an integer") +
                                 " is required, not " + type_name(value));
    }
    if (spec.precision > kPrecisionMax) raise(Exception::limit, "a precision above 1000");
    bool negative = false;
    std::string digits;
    if (is_integer) {
      const std::int64_t number =
          value.is_integer() ? value.integer() : truncated(value.floating());
      negative = number < 0;
      digits = integer_text(number, kind);
      const auto least = static_cast<std::size_t>(std::max<std::int64_t>(spec.precision, 0));
      if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
      if (spec.alternate && !is_decimal) digits.insert(0, std::string("0") + kind);
    } else {
      const double number = value.floating();
      negative = std::signbit(number) && !std::isnan(number);
      const auto precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
      digits = double_text(std::fabs(number), kind, precision, spec.alternate);
    }
    if (negative) return "-" + digits;
    return spec.sign == '\0' ? digits : spec.sign + digits;
  }

  Interpreter& interpreter_;
  std::string_view format_;
  bool markup_;
  const Value& values_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  bool named_ = false;
  std::string out_;
};

}  // namespace

Value percent_format(Interpreter& interpreter, const Value& format, const Value& values) {
  interpreter.budget().make(format.text().size());
  return interpreter.text(PercentFormat(interpreter, format, values).run(), format.string().markup);
}

}  // namespace forge::chat::detail
