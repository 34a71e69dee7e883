// Lexeme: how far a terminal has read, byte by byte.
//
// A character may be on its way: some bytes of its UTF-8, or of an escape, have been read. What it
// can still become is a range of characters, so it is known at once whether any of them fits; a
// byte is never accepted that leads to nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "automaton.h"

namespace forge::grammar {

/// Keys that an object has already; immutable, shared by the states that have read the same.
struct SeenKeys {
  struct Key {
    std::shared_ptr<const std::u32string> text;
    bool required = false;
  };
  std::vector<Key> keys;  ///< ascending
  std::uint64_t required = 0;

  /// Those that begin with the first `depth` characters of the keys in [begin, end) and have
  /// `next` after them.
  std::pair<std::size_t, std::size_t> narrowed(std::size_t begin, std::size_t end,
                                               std::size_t depth, char32_t next) const;
};

/// What a key must differ from while it is read.
struct KeyRule {
  const SeenKeys* seen = nullptr;  ///< null: it is not a key, or the first
  bool required_only = false;      ///< no other key has room
  // Of `seen`, those that begin as the key does, and how many characters of it there are.
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t depth = 0;
};

class Lexeme {
 public:
  explicit Lexeme(const Terminal& terminal) : terminal_(&terminal), state_(terminal.dfa->start) {}

  enum class Step : std::uint8_t {
    dead,  ///< the byte does not fit
    goes_on,
    closed,  ///< it was the quote that ends a string
  };

  /// Reads a byte. After `dead` the lexeme is of no use.
  Step step(unsigned char byte, KeyRule& rule) {
    if (mode_ == Mode::idle && byte < 0x80 && byte != '\\') {
      if (terminal_->form == Terminal::Form::quoted) {
        if (byte == '"') return closes(rule) ? Step::closed : Step::dead;
        if (byte < 0x20) return Step::dead;
      }
      return character(byte, rule) ? Step::goes_on : Step::dead;
    }
    return slow_step(byte, rule);
  }

  /// Is it known at a glance that the byte does not fit? For walks, most steps of which end so.
  bool surely_refuses(unsigned char byte) const {
    if (mode_ != Mode::idle || byte >= 0x80) return false;
    const bool is_mark = byte == '"' || byte == '\\';
    if (terminal_->form == Terminal::Form::quoted && (is_mark || byte < 0x20)) return !is_mark;
    return terminal_->dfa->next(state_, byte) == kDead;
  }

  /// Whatever characters follow that a string has unescaped, it goes on, but for a bound on them.
  bool takes_text() const { return mode_ == Mode::idle && terminal_->takes_text[state_]; }

  /// Of a string: whatever characters follow, the state stays as it is.
  bool is_free() const { return mode_ == Mode::idle && terminal_->is_free[state_]; }

  /// The text so far is one of the terminal's; of a string, but for the quote.
  bool accepts() const {
    return mode_ == Mode::idle && terminal_->dfa->labels[state_] != 0 && count_ >= terminal_->least;
  }
  /// A quote may end it here, but for the least number of characters.
  bool may_close() const {
    return mode_ == Mode::idle && terminal_->form == Terminal::Form::quoted &&
           terminal_->dfa->labels[state_] != 0;
  }
  Label label() const { return terminal_->dfa->labels[state_]; }
  const Terminal& terminal() const { return *terminal_; }
  State state() const { return state_; }
  std::uint64_t count() const { return count_; }  ///< of characters read
  bool is_idle() const { return mode_ == Mode::idle; }
  /// The character on its way, for keys of caches: what has been read of it.
  std::uint64_t partial() const {
    return std::uint64_t{value_} | std::uint64_t{static_cast<std::uint8_t>(mode_)} << 32 |
           std::uint64_t{digits_} << 40 | std::uint64_t{high_} << 44;
  }
  /// The last character that was complete.
  char32_t last() const { return last_; }

  /// The characters that the one on its way may be, as far as its bytes say; of an idle one, all.
  /// Ranges whose first is above their last are none.
  std::array<CharRange, 3> ahead() const;

  friend bool operator==(const Lexeme& a, const Lexeme& b) {
    return a.terminal_ == b.terminal_ && a.state_ == b.state_ && a.count_ == b.count_ &&
           a.partial() == b.partial();
  }

  /// Reads a whole character, however it is written. Requires: is_idle().
  bool take(char32_t c, KeyRule& rule) { return character(c, rule); }

 private:
  enum class Mode : std::uint8_t {
    idle,
    utf8,        ///< value_ are the bits so far, digits_ the bytes that are missing
    escape,      ///< after a backslash
    hex,         ///< after \u: value_ of digits_ digits
    low_escape,  ///< after the first half of a pair, high_
    low_u,       ///< and a backslash
    low_hex,     ///< and \u: value_ of digits_ digits
  };

  /// Is some accepted text ahead, in `state`, with one more character read?
  bool lives(State state, std::uint64_t read) const {
    return state != kDead &&
           (terminal_->most == kMany ||
            (read <= terminal_->most && terminal_->distance[state] <= terminal_->most - read));
  }
  bool lives_as_key(State state, const KeyRule& rule, std::size_t begin, std::size_t end) const;
  bool closes(const KeyRule& rule) const;

  bool character(char32_t c, KeyRule& rule) {
    const State next = terminal_->dfa->next(state_, c);
    if (!lives(next, count_ + 1)) return false;
    if (rule.seen != nullptr && !key_character(c, next, rule)) return false;
    state_ = next;
    ++count_;
    last_ = c;
    mode_ = Mode::idle;
    return true;
  }
  bool key_character(char32_t c, State next, KeyRule& rule) const;
  Step slow_step(unsigned char byte, KeyRule& rule);
  bool start_utf8(unsigned char byte);
  /// May a character of `first` to `last` come next?
  bool takes_one_of(char32_t first, char32_t last, const KeyRule& rule) const;
  /// Can the character on its way still become one that fits?
  bool partial_lives(const KeyRule& rule) const;

  const Terminal* terminal_;
  State state_;
  std::uint32_t value_ = 0;
  std::uint64_t count_ = 0;
  char32_t last_ = 0;
  std::uint16_t high_ = 0;
  Mode mode_ = Mode::idle;
  std::uint8_t digits_ = 0;
};

}  // namespace forge::grammar
