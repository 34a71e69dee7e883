#include "string_literal.h"

#include <cstdint>

#include "unicode.h"

namespace forge::chat::detail {
namespace {

/// The escapes of one letter, each before what it stands for.
constexpr std::string_view kLetters = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";

/// Python turns a character beyond ASCII into an escape of its own first, whose backslash a
/// backslash before it then takes.
void append_spelt_out(std::string& out, std::uint32_t code) {
  constexpr char kDigits[] = "0123456789abcdef";
  const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  out += '\\';
  out += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
  for (int i = digits - 1; i >= 0; --i) out += kDigits[code >> (4 * i) & 0xFU];
}

class Unescaper {
 public:
  explicit Unescaper(std::string_view text) : text_(text) {}

  tl::expected<std::string, std::string> run() {
    while (at_ < text_.size() && error_.empty()) {
      if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
        out_ += text_[at_++];
      } else {
        ++at_;
        escape();
      }
    }
    if (!error_.empty()) return tl::unexpected(error_);
    return std::move(out_);
  }

 private:
  void escape() {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
    } else if (const std::size_t place = letter_place(c); place != std::string_view::npos) {
      out_ += kLetters[place + 1];
      ++at_;
    } else if (c >= '0' && c <= '7') {
      octal();
    } else if (c == 'x' || c == 'u' || c == 'U') {
      hexadecimal(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
      error_ = "the escape \\N in a text is not supported";
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      const Character character = first_character(text_.substr(at_));
      append_spelt_out(out_, character.code);
      at_ += character.bytes;
    } else {
      out_ += {'\\', c};
      ++at_;
    }
  }

  static std::size_t letter_place(char c) {
    for (std::size_t i = 0; i < kLetters.size(); i += 2) {
      if (kLetters[i] == c) return i;
    }
    return std::string_view::npos;
  }

  void octal() {
    std::uint32_t code = 0;
    for (int i = 0; i < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i) {
      code = code * 8 + static_cast<std::uint32_t>(text_[at_++] - '0');
    }
    append_character(out_, code);
  }

  void hexadecimal(int digits) {
    std::uint32_t code = 0;
    ++at_;
    for (int i = 0; i < digits; ++i, ++at_) {
      const int digit = at_ < text_.size() ? digit_value(text_[at_]) : 16;
      if (digit >= 16) {
        error_ = "an escape in a text is cut short";
        return;
      }
      code = code << 4 | static_cast<std::uint32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      error_ = "an escape in a text is of a character that UTF-8 cannot say";
      return;
    }
    append_character(out_, code);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::string error_;
};

}  // namespace

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char letter = static_cast<char>(c | 0x20);
  return letter >= 'a' && letter <= 'z' ? letter - 'a' + 10 : 36;
}

tl::expected<std::string, std::string> string_literal(std::string_view text) {
  return Unescaper(text).run();
}

}  // namespace forge::chat::detail
