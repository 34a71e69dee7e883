#include "regex_tree.h"

#include <algorithm>
#include <utility>

#include "utf8.h"

namespace forge::grammar {
namespace {

using Kind = RegexNode::Kind;

constexpr int kDepthMax = 100;
constexpr std::uint32_t kRepeatsMax = 1'000'000;

const CharSet kDigits = {{'0', '9'}};
const CharSet kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CharSet kSpace = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                        {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                        {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const CharSet kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

int hex_value(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A') + 10;
  return -1;
}
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Recursive descent; the first fault is kept, and ends the reading.
class Parser {
 public:
  explicit Parser(std::u32string text) : text_(std::move(text)) {}

  RegexTree run() {
    tree_.root = choice();
    if (!done()) fail("an unmatched ')'");
    return std::move(tree_);
  }

 private:
  bool failed() const { return !tree_.fault.empty(); }
  bool done() const { return at_ >= text_.size() || failed(); }
  char32_t peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0';
  }
  bool take(char32_t c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view word) {
    if (failed() || text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  void fail(const std::string& fault) {
    if (tree_.fault.empty()) tree_.fault = fault;
  }
  std::size_t add(RegexNode node) {
    tree_.nodes.push_back(std::move(node));
    return tree_.nodes.size() - 1;
  }
  std::size_t add_set(CharSet set) {
    RegexNode node;
    node.kind = Kind::set;
    node.set = without_surrogates(normalized(std::move(set)));
    return add(std::move(node));
  }
  std::size_t add_kind(Kind kind) {
    RegexNode node;
    node.kind = kind;
    return add(std::move(node));
  }

  std::size_t choice() {
    RegexNode node;
    node.kind = Kind::choice;
    if (++depth_ > kDepthMax) fail("parentheses nested deeper than " + std::to_string(kDepthMax));
    do {
      node.parts.push_back(sequence());
    } while (take('|'));
    --depth_;
    return node.parts.size() == 1 ? node.parts[0] : add(std::move(node));
  }

  std::size_t sequence() {
    RegexNode node;
    while (!done() && peek() != '|' && peek() != ')') node.parts.push_back(repeated());
    return add(std::move(node));
  }

  std::size_t repeated() {
    const bool is_place = peek() == '^' || peek() == '$';
    std::size_t part = atom();
    RegexNode node;
    node.kind = Kind::repeat;
    if (!quantifier(node)) return part;
    if (is_place) fail("nothing to repeat before '*', '+', '?' or '{'");
    take('?');  // lazy: the same texts
    node.parts = {part};
    part = add(std::move(node));
    RegexNode again;
    if (!done() && quantifier(again)) fail("nothing to repeat before '*', '+', '?' or '{'");
    return part;
  }

  bool quantifier(RegexNode& node) {
    const auto set = [&](std::uint32_t least, std::uint32_t most) {
      node.least = least;
      node.most = most;
      return true;
    };
    if (take('*')) return set(0, kNoLimit);
    if (take('+')) return set(1, kNoLimit);
    if (take('?')) return set(0, 1);
    if (peek() != '{' || done()) return false;
    const std::size_t begin = at_++;
    const auto least = number();
    std::optional<std::uint32_t> most = least;
    if (least && take(',')) most = peek() == '}' ? kNoLimit : number();
    if (!least || !most || !take('}')) {
      at_ = begin;  // not a count: the character itself
      return false;
    }
    if (*most != kNoLimit && *least > *most) fail("a count whose least is above its most");
    if (*least > kRepeatsMax || (*most != kNoLimit && *most > kRepeatsMax)) {
      fail("a count above " + std::to_string(kRepeatsMax));
    }
    return set(*least, *most);
  }

  std::optional<std::uint32_t> number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    std::uint32_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = std::min(kRepeatsMax + 1, value * 10 + static_cast<std::uint32_t>(peek() - '0'));
      ++at_;
    }
    return value;
  }

  std::size_t atom() {
    if (take('^')) return add_kind(Kind::begin);
    if (take('$')) return add_kind(Kind::end);
    if (take('(')) return group();
    if (take('[')) return add_set(char_class());
    if (take('.')) return add_set(complement_of(kLineEnds));
    if (peek() == '*' || peek() == '+' || peek() == '?') {
      fail("nothing to repeat before '*', '+', '?' or '{'");
    }
    if (take('\\')) return add_set(escape(false));
    const char32_t c = text_[at_++];
    return add_set({{c, c}});
  }

  std::size_t group() {
    if (take(U"?=") || take(U"?!")) fail("look-ahead (?= or (?!, which is not supported");
    if (take(U"?<=") || take(U"?<!")) fail("look-behind (?<= or (?<!, which is not supported");
    if (take(U"?<")) {
      while (!done() && peek() != '>') ++at_;
      if (!take('>')) fail("a group name without '>'");
    } else if (take('?') && !take(':')) {
      fail("a group '(?' of an unknown kind");
    }
    const std::size_t inner = failed() ? 0 : choice();
    if (!take(')')) fail("an unmatched '('");
    return inner;
  }

  std::optional<char32_t> hex(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int digit = hex_value(peek(i));
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    at_ += digits;
    return value;
  }

  /// After "\u".
  char32_t unicode_escape() {
    if (take('{')) {
      char32_t value = 0;
      std::size_t digits = 0;
      for (; hex_value(peek()) >= 0 && value <= kLastCharacter; ++at_, ++digits) {
        value = value * 16 + static_cast<char32_t>(hex_value(peek()));
      }
      if (digits == 0 || value > kLastCharacter || !take('}')) fail("an escape \\u{ that is wrong");
      return std::min(value, kLastCharacter);
    }
    const auto first = hex(4);
    if (!first) fail("an escape \\u without four hexadecimal digits");
    if (first && *first >= 0xD800 && *first <= 0xDBFF && peek() == '\\' && peek(1) == 'u') {
      const std::size_t begin = at_;
      at_ += 2;
      const auto second = hex(4);
      if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
        return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
      }
      at_ = begin;
    }
    return first.value_or(0);
  }

  /// After the backslash: one character or a class.
  CharSet escape(bool in_class) {
    if (done()) {
      fail("a '\\' at the end");
      return {};
    }
    const char32_t c = text_[at_++];
    switch (c) {
      case 'd':
        return kDigits;
      case 'D':
        return complement_of(kDigits);
      case 'w':
        return kWord;
      case 'W':
        return complement_of(kWord);
      case 's':
        return kSpace;
      case 'S':
        return complement_of(kSpace);
      case 'p':
      case 'P':
        fail("a property \\p{..}, which is not supported");
        return {};
      case 'k':
        fail("a back reference \\k, which is not supported");
        return {};
      case 'B':
        fail("a word boundary \\B, which is not supported");
        return {};
      case 'b':
        if (!in_class) fail("a word boundary \\b, which is not supported");
        return {{'\b', '\b'}};
      default:
        break;
    }
    if (c >= '1' && c <= '9') fail("a back reference \\1 .. \\9, which is not supported");
    const char32_t one = character_escape(c);
    return {{one, one}};
  }

  char32_t character_escape(char32_t c) {
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      case '0':
        if (peek() >= '0' && peek() <= '9') fail("an octal escape, which is not supported");
        return 0;
      case 'x': {
        const auto value = hex(2);
        if (!value) fail("an escape \\x without two hexadecimal digits");
        return value.value_or(0);
      }
      case 'u':
        return unicode_escape();
      case 'c': {
        const char32_t letter = peek();
        if (!is_letter(letter)) fail("an escape \\c without a letter");
        ++at_;
        return letter % 32;
      }
      default:
        break;
    }
    if (is_letter(c) || c == '_') {
      fail("an unknown escape '\\" + std::string(1, static_cast<char>(c)) + "'");
    }
    return c;
  }

  CharSet char_class() {
    const bool negated = take('^');
    CharSet set;
    while (!done() && peek() != ']') {
      CharSet first = class_atom();
      const bool is_range = peek() == '-' && at_ + 1 < text_.size() && peek(1) != ']';
      if (!is_range) {
        set.insert(set.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      const CharSet last = class_atom();
      const auto is_one = [](const CharSet& s) { return s.size() == 1 && s[0].first == s[0].last; };
      if (failed()) break;
      if (!is_one(first) || !is_one(last)) {
        fail("a range in [ ] of which an end is a class");
      } else if (first[0].first > last[0].first) {
        fail("a range in [ ] whose first is above its last");
      } else {
        set.push_back({first[0].first, last[0].first});
      }
    }
    if (!take(']')) fail("an unmatched '['");
    set = normalized(std::move(set));
    return negated ? complement_of(set) : set;
  }

  CharSet class_atom() {
    if (take('\\')) return escape(true);
    if (done()) return {};
    const char32_t c = text_[at_++];
    return {{c, c}};
  }

  std::u32string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  RegexTree tree_;
};

}  // namespace

RegexTree parse_regex(std::string_view pattern) {
  auto characters = characters_of(pattern);
  if (!characters) {
    RegexTree tree;
    tree.fault = "bytes that are not UTF-8";
    return tree;
  }
  return Parser(*std::move(characters)).run();
}

}  // namespace forge::grammar
