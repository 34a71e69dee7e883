#include "lexeme.h"

#include <algorithm>

namespace forge::grammar {
namespace {

int hex_digit(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The character that a short escape stands for; 0: none.
char32_t short_escape(unsigned char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

constexpr char32_t kHigh = 0xD800;  // the first half of a pair: to 0xDBFF
constexpr char32_t kLow = 0xDC00;   // the second: to 0xDFFF
constexpr char32_t kAfterLow = 0xE000;
constexpr char32_t kBeyondBmp = 0x10000;

}  // namespace

std::pair<std::size_t, std::size_t> SeenKeys::narrowed(std::size_t begin, std::size_t end,
                                                       std::size_t depth, char32_t next) const {
  // Those that end at `depth` come first among keys that are equal so far.
  const auto before = [&](const Key& key, char32_t c) {
    return key.text->size() <= depth || (*key.text)[depth] < c;
  };
  const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = keys.begin() + static_cast<std::ptrdiff_t>(end);
  const auto low = std::lower_bound(first, last, next, before);
  const auto high = std::lower_bound(low, last, next + 1, before);
  return {static_cast<std::size_t>(low - keys.begin()),
          static_cast<std::size_t>(high - keys.begin())};
}

bool Lexeme::lives_as_key(State state, const KeyRule& rule, std::size_t begin,
                          std::size_t end) const {
  if (state == kDead) return false;
  if (!rule.required_only) return terminal_->words[state] > end - begin;
  std::uint64_t used = 0;
  for (std::size_t i = begin; i < end; ++i) used += rule.seen->keys[i].required ? 1 : 0;
  return terminal_->required_words[state] > used;
}

bool Lexeme::key_character(char32_t c, State next, KeyRule& rule) const {
  const auto [begin, end] = rule.seen->narrowed(rule.begin, rule.end, rule.depth, c);
  if (!lives_as_key(next, rule, begin, end)) return false;
  rule.begin = begin;
  rule.end = end;
  ++rule.depth;
  return true;
}

bool Lexeme::closes(const KeyRule& rule) const {
  if (!accepts()) return false;
  if (rule.seen == nullptr) return true;
  // The first of those that begin as this key does is the key itself, if it is there.
  const bool is_seen =
      rule.begin < rule.end && rule.seen->keys[rule.begin].text->size() == rule.depth;
  if (is_seen) return false;
  if (!rule.required_only) return true;
  return terminal_->is_required[label()];
}

bool Lexeme::takes_one_of(char32_t first, char32_t last, const KeyRule& rule) const {
  const Dfa& dfa = *terminal_->dfa;
  for (std::size_t piece = dfa.piece_of(first);
       piece < dfa.piece_begin.size() && dfa.piece_begin[piece] <= last; ++piece) {
    const State next = dfa.table[std::size_t{state_} * dfa.classes + dfa.piece_class[piece]];
    if (!lives(next, count_ + 1)) continue;
    if (rule.seen == nullptr) return true;
    char32_t c = std::max(first, dfa.piece_begin[piece]);
    const char32_t end = std::min(last, dfa.piece_last(piece));
    // The seen keys have few characters next; the first that none has decides for all such.
    for (; c <= end; ++c) {
      const auto [begin_after, end_after] =
          rule.seen->narrowed(rule.begin, rule.end, rule.depth, c);
      if (lives_as_key(next, rule, begin_after, end_after)) return true;
      if (begin_after == end_after) break;
    }
  }
  return false;
}

std::array<CharRange, 3> Lexeme::ahead() const {
  constexpr CharRange kNone{1, 0};
  const auto range = [&](unsigned bits_missing) {
    const char32_t first = value_ << bits_missing;
    return CharRange{first, first | ((char32_t{1} << bits_missing) - 1)};
  };
  // Without the surrogates, which are no characters.
  const auto characters = [&](char32_t first, char32_t last, const CharRange& more) {
    return std::array<CharRange, 3>{CharRange{first, std::min<char32_t>(last, kHigh - 1)},
                                    CharRange{std::max(first, kAfterLow), last}, more};
  };
  switch (mode_) {
    case Mode::idle:
    case Mode::escape:
      return characters(0, kLastCharacter, kNone);
    case Mode::utf8: {
      const auto [first, last] = range(6U * digits_);
      const char32_t least = high_ == 1 ? 0x80 : high_ == 2 ? 0x800 : kBeyondBmp;
      return characters(std::max(first, least), std::min(last, kLastCharacter), kNone);
    }
    case Mode::hex: {
      const auto [first, last] = range(4U * (4U - digits_));
      const char32_t from = std::max(first, kHigh);
      const char32_t to = std::min<char32_t>(last, kLow - 1);
      if (from > to) return characters(first, last, kNone);
      return characters(
          first, last,
          {kBeyondBmp + ((from - kHigh) << 10), kBeyondBmp + ((to - kHigh) << 10 | 0x3FF)});
    }
    case Mode::low_escape:
    case Mode::low_u:
    case Mode::low_hex:
      break;
  }
  const char32_t base = kBeyondBmp + ((high_ - kHigh) << 10);
  if (mode_ != Mode::low_hex) return {CharRange{base, base | 0x3FF}, kNone, kNone};
  const auto [first, last] = range(4U * (4U - digits_));
  const char32_t from = std::max(first, kLow);
  const char32_t to = std::min<char32_t>(last, kAfterLow - 1);
  if (from > to) return {kNone, kNone, kNone};
  return {CharRange{base + (from - kLow), base + (to - kLow)}, kNone, kNone};
}

bool Lexeme::partial_lives(const KeyRule& rule) const {
  const auto ranges = ahead();
  return std::any_of(ranges.begin(), ranges.end(), [&](const CharRange& range) {
    return range.first <= range.last && takes_one_of(range.first, range.last, rule);
  });
}

bool Lexeme::start_utf8(unsigned char byte) {
  if (byte < 0xC2 || byte > 0xF4) return false;
  digits_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  high_ = digits_;  // how many there are in all
  value_ = byte & (byte < 0xE0 ? 0x1FU : byte < 0xF0 ? 0x0FU : 0x07U);
  mode_ = Mode::utf8;
  return true;
}

Lexeme::Step Lexeme::slow_step(unsigned char byte, KeyRule& rule) {
  const auto end = [&](char32_t c) { return character(c, rule) ? Step::goes_on : Step::dead; };
  const auto so_far = [&] { return partial_lives(rule) ? Step::goes_on : Step::dead; };
  const int digit = hex_digit(byte);
  switch (mode_) {
    case Mode::idle:
      if (byte == '\\' && terminal_->form == Terminal::Form::plain) return end(byte);
      if (byte == '\\') {
        mode_ = Mode::escape;
        return so_far();
      }
      return start_utf8(byte) ? so_far() : Step::dead;
    case Mode::utf8:
      if ((byte & 0xC0U) != 0x80) return Step::dead;
      value_ = value_ << 6 | (byte & 0x3FU);
      if (--digits_ > 0) return so_far();
      if (value_ < (high_ == 1   ? 0x80U
                    : high_ == 2 ? 0x800U
                                 : 0x10000U) ||
          value_ > kLastCharacter || (value_ >= kHigh && value_ < kAfterLow)) {
        return Step::dead;
      }
      high_ = 0;
      return end(std::exchange(value_, 0));
    case Mode::escape:
      if (byte != 'u') {
        const char32_t c = short_escape(byte);
        return c != 0 ? end(c) : Step::dead;
      }
      mode_ = Mode::hex;
      value_ = 0;
      digits_ = 0;
      return so_far();
    case Mode::hex:
      if (digit < 0) return Step::dead;
      value_ = value_ << 4 | static_cast<unsigned>(digit);
      if (++digits_ < 4) return so_far();
      digits_ = 0;
      if (value_ < kHigh || value_ >= kAfterLow) return end(std::exchange(value_, 0));
      if (value_ >= kLow) return Step::dead;
      high_ = static_cast<std::uint16_t>(std::exchange(value_, 0));
      mode_ = Mode::low_escape;
      return so_far();
    case Mode::low_escape:
      mode_ = Mode::low_u;
      return byte == '\\' ? so_far() : Step::dead;
    case Mode::low_u:
      mode_ = Mode::low_hex;
      return byte == 'u' ? so_far() : Step::dead;
    case Mode::low_hex:
      break;
  }
  if (digit < 0) return Step::dead;
  value_ = value_ << 4 | static_cast<unsigned>(digit);
  if (++digits_ < 4) return so_far();
  if (value_ < kLow || value_ >= kAfterLow) return Step::dead;
  const char32_t c = kBeyondBmp + ((high_ - kHigh) << 10) + (value_ - kLow);
  value_ = 0;
  digits_ = 0;
  high_ = 0;
  return end(c);
}

}  // namespace forge::grammar
