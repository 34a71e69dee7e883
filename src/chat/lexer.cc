#include "lexer.h"

#include <algorithm>
#include <charconv>

#include "forge/core/quoted.h"
#include "numbers.h"
#include "string_literal.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

constexpr auto kNowhere = std::string_view::npos;

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

std::string with_unix_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else {
      out += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string message) const {
    throw SyntaxError{line_, std::move(message)};
  }

  std::string_view rest() const { return source_.substr(at_); }
  bool is_next(std::string_view text) const { return rest().starts_with(text); }

  void add(TokenKind kind, std::string text) {
    Token& token = tokens_.emplace_back();
    token.kind = kind;
    token.line = line_;
    token.text = std::move(text);
  }

  /// Goes on to `end`, and remembers whether a line begins there.
  void advance(std::size_t end) {
    const std::string_view passed = source_.substr(at_, end - at_);
    line_ += static_cast<std::uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    if (!passed.empty()) line_starts_ = passed.back() == '\n';
    at_ = end;
  }

  std::size_t skip_space(std::size_t from) const {
    const std::string_view text = source_.substr(from);
    return from + (text.size() - strip_left(text).size());
  }

  static bool is_sign(char c) { return c == '-' || c == '+'; }
  char sign_at(std::size_t place) const {
    return place < source_.size() && is_sign(source_[place]) ? source_[place] : '\0';
  }

  /// Text up to a tag, of which `sign` follows the mark and `is_variable` is said.
  void add_data(std::size_t end, char sign, bool is_variable) {
    std::string_view text = source_.substr(at_, end - at_);
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign != '+' && !is_variable) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t start = newline == kNowhere ? 0 : newline + 1;
      if ((start > 0 || line_starts_) && strip_left(text.substr(start)).empty()) {
        text = text.substr(0, start);
      }
    }
    if (!text.empty()) add(TokenKind::data, std::string(text));
  }

  /// The end of a tag that `mark` closes and that may begin at `from`; kNowhere if none does. A
  /// statement or a comment takes the line break after it along.
  std::size_t tag_end(std::size_t from, std::string_view mark, bool may_trim) const {
    const char sign = sign_at(from);
    if (sign != '\0' && (sign == '-' || may_trim)) {
      if (!source_.substr(from + 1).starts_with(mark)) return kNowhere;
      const std::size_t end = from + 1 + mark.size();
      return sign == '-' ? skip_space(end) : end;
    }
    if (!source_.substr(from).starts_with(mark)) return kNowhere;
    const std::size_t end = from + mark.size();
    return may_trim && end < source_.size() && source_[end] == '\n' ? end + 1 : end;
  }

  /// Where a tag begins that says `word` alone, {% word %}, and begins at `from`; its end, or
  /// kNowhere.
  std::size_t word_tag_end(std::size_t from, std::string_view word, bool may_trim) const {
    std::size_t place = from + 2;
    if (sign_at(place) != '\0') ++place;
    place = skip_space(place);
    if (!source_.substr(place).starts_with(word)) return kNowhere;
    return tag_end(skip_space(place + word.size()), "%}", may_trim);
  }

  void root() {
    std::size_t tag = at_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == kNowhere || tag + 1 >= source_.size()) {
        add(TokenKind::data, std::string(rest()));
        advance(source_.size());
        return;
      }
      const char second = source_[tag + 1];
      if (second == '%' || second == '{' || second == '#') break;
      ++tag;
    }
    const char kind = source_[tag + 1];
    const char sign = sign_at(tag + 2);
    add_data(tag, sign, kind == '{');
    advance(tag);
    if (kind == '%') {
      // A line break after {% raw %} stays.
      const std::size_t place = skip_space(tag + 2 + (sign == '\0' ? 0 : 1));
      if (source_.substr(place).starts_with("raw")) {
        const std::size_t close = skip_space(place + 3);
        if (sign_at(close) != '+') {
          if (const std::size_t end = tag_end(close, "%}", false); end != kNowhere) {
            advance(end);
            raw();
            return;
          }
        }
      }
    }
    const std::size_t begin = tag + 2 + (sign == '\0' ? 0 : 1);
    if (kind == '#') {
      advance(begin);
      comment();
    } else {
      add(kind == '%' ? TokenKind::block_begin : TokenKind::variable_begin, "");
      advance(begin);
      code(kind == '%');
    }
  }

  void comment() {
    for (std::size_t place = at_; place < source_.size(); ++place) {
      const char c = source_[place];
      if (c != '#' && !is_sign(c)) continue;
      if (const std::size_t end = tag_end(place, "#}", true); end != kNowhere) {
        advance(end);
        return;
      }
    }
    fail("Missing end of comment tag");
  }

  void raw() {
    for (std::size_t tag = source_.find("{%", at_); tag != kNowhere;
         tag = source_.find("{%", tag + 1)) {
      const std::size_t end = word_tag_end(tag, "endraw", true);
      if (end == kNowhere) continue;
      add_data(tag, sign_at(tag + 2), false);
      advance(end);
      return;
    }
    fail("Missing end of raw directive");
  }

  /// Tokens within a statement or an expression, up to its end.
  void code(bool is_block) {
    open_.clear();
    const std::string_view mark = is_block ? "%}" : "}}";
    while (at_ < source_.size()) {
      if (open_.empty()) {
        if (const std::size_t end = tag_end(at_, mark, is_block); end != kNowhere) {
          add(is_block ? TokenKind::block_end : TokenKind::variable_end, "");
          advance(end);
          return;
        }
      }
      if (const std::size_t space = skip_space(at_); space > at_) {
        advance(space);
      } else if (is_ascii_digit(source_[at_])) {
        number();
      } else if (source_[at_] == '\'' || source_[at_] == '"') {
        string();
      } else if (!name()) {
        op();
      }
    }
  }

  /// The end of digits that '_' may separate; `from` where there are none.
  template <class IsDigit>
  std::size_t digits_end(std::size_t from, const IsDigit& is_digit) const {
    std::size_t end = from;
    while (end < source_.size() && is_digit(source_[end])) {
      ++end;
      if (end + 1 < source_.size() && source_[end] == '_' && is_digit(source_[end + 1])) ++end;
    }
    return end;
  }

  /// The end of a floating-point number; kNowhere where it is none.
  std::size_t float_end() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return kNowhere;
    std::size_t end = digits_end(at_, is_ascii_digit);
    bool is_float = false;
    if (end < source_.size() && source_[end] == '.') {
      if (const std::size_t fraction = digits_end(end + 1, is_ascii_digit); fraction > end + 1) {
        end = fraction;
        is_float = true;
      }
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const std::size_t first = end + 1 + (sign_at(end + 1) == '\0' ? 0 : 1);
      if (const std::size_t exponent = digits_end(first, is_ascii_digit); exponent > first) {
        end = exponent;
        is_float = true;
      }
    }
    return is_float ? end : kNowhere;
  }

  void number() {
    if (const std::size_t end = float_end(); end != kNowhere) {
      std::string digits(source_.substr(at_, end - at_));
      std::erase(digits, '_');
      add(TokenKind::floating, digits);
      tokens_.back().floating = double_of_digits(digits);
      advance(end);
      return;
    }
    int base = 10;
    std::size_t first = at_;
    std::size_t end = at_;
    if (source_[at_] == '0' && at_ + 1 < source_.size()) {
      const char letter = static_cast<char>(source_[at_ + 1] | 0x20);
      base = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 10;
    }
    if (base != 10) {
      first = at_ + 2 + (at_ + 2 < source_.size() && source_[at_ + 2] == '_' ? 1 : 0);
      end = digits_end(first, [&](char c) { return digit_value(c) < base; });
    }
    if (end == first || base == 10) {
      base = 10;
      first = at_;
      end = source_[at_] == '0' ? digits_end(at_, [](char c) { return c == '0'; })
                                : digits_end(at_, is_ascii_digit);
    }
    std::string digits(source_.substr(first, end - first));
    std::erase(digits, '_');
    add(TokenKind::integer, digits);
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), tokens_.back().integer, base);
    if (read.ec != std::errc())
      fail("the integer " + printable(digits) + " needs more than 64 bits");
    advance(end);
  }

  void string() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      fail(std::string("unexpected char '") + quote + "': a text without end");
    const auto value = string_literal(source_.substr(at_ + 1, end - at_ - 1));
    if (!value) fail(value.error());
    add(TokenKind::string, *value);
    advance(end + 1);
  }

  bool name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const Character character = first_character(source_.substr(end));
      if (!is_name_character(character.code)) break;
      end += character.bytes;
    }
    if (end == at_) return false;
    add(TokenKind::name, std::string(source_.substr(at_, end - at_)));
    advance(end);
    return true;
  }

  void op() {
    for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="}) {
      if (!is_next(two)) continue;
      add(TokenKind::op, std::string(two));
      advance(at_ + 2);
      return;
    }
    const char c = source_[at_];
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == kNowhere) {
      fail("unexpected char " + in_quotes(rest().substr(0, character_bytes(c))));
    }
    if (c == '(' || c == '[' || c == '{') {
      open_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_.empty()) fail(std::string("unexpected '") + c + "'");
      if (open_.back() != c) {
        fail(std::string("unexpected '") + c + "', expected '" + open_.back() + "'");
      }
      open_.pop_back();
    }
    add(TokenKind::op, std::string(1, c));
    advance(at_ + 1);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool line_starts_ = true;
  std::string open_;  // the brackets that are to be closed, the innermost last
  std::vector<Token> tokens_;
};

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
      return "template data / text";
    case TokenKind::block_begin:
      return "begin of statement block";
    case TokenKind::block_end:
      return "end of statement block";
    case TokenKind::variable_begin:
      return "begin of print statement";
    case TokenKind::variable_end:
      return "end of print statement";
    case TokenKind::string:
      return "string";
    case TokenKind::integer:
      return "integer";
    case TokenKind::floating:
      return "float";
    case TokenKind::end:
      return "end of template";
    default:
      return printable(token.text);
  }
}

std::vector<Token> tokenize(std::string_view source) {
  const std::string text = with_unix_newlines(source);
  return Lexer(text).run();
}

}  // namespace forge::chat::detail
