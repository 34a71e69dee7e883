// Values as Python prints them.
#include <array>
#include <charconv>
#include <cmath>

#include "loop.h"
#include "macro.h"
#include "unicode.h"
#include "value.h"

namespace forge::chat::detail {
namespace {

/// Writes values one after the other, at a cost that is charged as it comes up: a value that holds
/// another twice has twice its text.
class Printer {
 public:
  explicit Printer(Budget& budget) : budget_(budget) {}

  std::string take() { return std::move(out_); }

  void print(const Value& value) {
    const std::size_t before = out_.size();
    if (++depth_ > kValueDepthMax) one_deeper(kValueDepthMax);
    if (value.is_string()) {
      add(repr_of_text(value.text()), value.string().markup ? "Markup(" : "", ")");
    } else if (value.is_sequence()) {
      print_sequence(value);
    } else if (value.is(Kind::dict)) {
      print_dict(value.dict());
    } else if (value.is(Kind::space)) {
      print_space(value.space());
    } else {
      out_ += scalar(value);
    }
    --depth_;
    if (out_.size() > before) budget_.make(out_.size() - before);
  }

 private:
  void add(const std::string& text, std::string_view before, std::string_view after) {
    out_ += before;
    out_ += text;
    if (!before.empty()) out_ += after;
  }

  void print_sequence(const Value& value) {
    const auto& elements = value.sequence().elements;
    const bool is_tuple = value.is(Kind::tuple);
    const bool is_view = !is_tuple && !value.is(Kind::list);
    if (is_view) out_ += type_name(value) + "(";
    out_ += is_tuple ? "(" : "[";
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(elements[i]);
    }
    if (is_tuple && elements.size() == 1) out_ += ",";
    out_ += is_tuple ? ")" : "]";
    if (is_view) out_ += ")";
  }

  void print_dict(const Dict& dict) {
    out_ += "{";
    for (std::size_t i = 0; i < dict.members.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(dict.members[i].first);
      out_ += ": ";
      print(dict.members[i].second);
    }
    out_ += "}";
  }

  void print_space(const Space& space) {
    out_ += "<Namespace {";
    for (std::size_t i = 0; i < space.members.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += repr_of_text(space.members[i].first) + ": ";
      print(space.members[i].second);
    }
    out_ += "}>";
  }

  static std::string scalar(const Value& value) {
    switch (value.kind()) {
      case Kind::none:
        return "None";
      case Kind::boolean:
        return value.boolean() ? "True" : "False";
      case Kind::integer:
        return std::to_string(value.integer());
      case Kind::floating:
        return repr_of_double(value.floating());
      case Kind::range:
        return range_text(value.range());
      case Kind::loop:
        return value.as<Loop>().text();
      case Kind::macro:
        return "<Macro " + repr_of_text(value.as<Macro>().name()) + ">";
      case Kind::function:
        return "<built-in method " + value.function().name + ">";
      case Kind::generator:
        return "<" + value.generator().name + " object>";
      default:
        return "Undefined";
    }
  }

  static std::string range_text(const Range& range) {
    const std::string stop = std::to_string(range.stop);
    const std::string step = range.step == 1 ? "" : ", " + std::to_string(range.step);
    return "range(" + std::to_string(range.start) + ", " + stop + step + ")";
  }

  Budget& budget_;
  std::string out_;
  int depth_ = 0;
};

void append_escape(std::string& out, std::uint32_t code) {
  constexpr char kDigits[] = "0123456789abcdef";
  const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int i = digits - 1; i >= 0; --i) out += kDigits[code >> (4 * i) & 0xFU];
}

}  // namespace

std::string repr_of_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::uint32_t code = character.code;
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      out += {'\\', static_cast<char>(code)};
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (is_printable(code)) {
      out += text.substr(0, character.bytes);
    } else {
      append_escape(out, code);
    }
    text.remove_prefix(character.bytes);
  }
  return out + quote;
}

std::string repr_of_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific);
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = shortest.find('e');
  int exponent = 0;
  const char* const digits = shortest.data() + e + (shortest[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits, shortest.data() + shortest.size(), exponent);
  constexpr int kLeast = -4;
  constexpr int kLargest = 16;
  if (exponent < kLeast || exponent >= kLargest) return std::string(shortest);
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  std::string text(buffer.data(), fixed.ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string text_of(Budget& budget, const Value& value) {
  if (value.is_string()) return std::string(value.text());
  if (value.is(Kind::undefined)) return "";
  return repr_of(budget, value);
}

std::string repr_of(Budget& budget, const Value& value) {
  Printer printer(budget);
  printer.print(value);
  return printer.take();
}

}  // namespace forge::chat::detail
