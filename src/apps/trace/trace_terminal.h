// Terminal: a screen that is drawn anew and keys that arrive at once, for as long as it lives.
//
// Owns the state of the terminal: line editing and echo are off and the screen is a second one,
// which the destructor, or a signal that ends the program (Ctrl-C among them), undoes. Ctrl-Z does
// nothing. There can be one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::apps {

enum class KeyKind { character, next, previous, enter, erase, escape, resized, end };

struct Key {
  KeyKind kind = KeyKind::character;
  char c = 0;  ///< for KeyKind::character
};

struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 24;
};

class Terminal {
 public:
  /// Errors: the standard input or output is no terminal.
  static tl::expected<std::unique_ptr<Terminal>, std::string> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;

  /// Waits for a key. Arrows to the right and down are `next`, to the left and up `previous`;
  /// `end` is the end of the input.
  Key read_key();

  /// Clears the screen and shows `text` from the top.
  void show(std::string_view text);

 private:
  Terminal() = default;
};

}  // namespace forge::apps
