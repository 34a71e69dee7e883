// Closing: a short text that completes what a configuration has read.
//
// It always makes the same choices, and what follows after a part of it is the rest of it, or
// shorter; so whoever follows it byte by byte gets to the end.
#pragma once

#include <cstdint>
#include <string>

#include "configuration.h"

namespace forge::grammar {

class Closing {
 public:
  Closing(const Stepper& stepper, std::size_t bytes_max)
      : stepper_(stepper), bytes_max_(bytes_max) {}

  /// At least the first `bytes_max` bytes of the text, or all of it.
  std::string run(Configuration from);

 private:
  bool is_full() const { return text_.size() >= bytes_max_; }
  void end_lexeme(Configuration& at);
  void end_key(Configuration& at);
  void end_frame(Frame& frame);
  void add_value(ValueId value);
  void add_terminal(const Terminal& terminal);
  void add_rest(Lexeme lexeme);
  void add_key(Frame& frame);
  void add_next_item(Frame& frame);
  void add_value_of_key(Frame& frame);
  void add_character(char32_t c, Terminal::Form form);
  /// Characters that end a key with an allowed label; of those the one with the cheapest value.
  std::u32string rest_of_key(const ObjectNode& node, const Frame& frame, const Lexeme& lexeme,
                             const KeyRule& rule) const;

  const Stepper& stepper_;
  std::size_t bytes_max_;
  std::string text_;
};

}  // namespace forge::grammar
