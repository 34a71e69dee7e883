// LineReader: the lines that a user types into a terminal, and Ctrl-C between them.
//
// The terminal itself lets the user correct a line before it is sent, and passes on at most 4095
// bytes of it. Borrows CtrlC. Thread contract: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "ctrl_c.h"

namespace forge::apps {

enum class TypedKind : std::uint8_t {
  line,
  cut,     ///< a line that was longer than the terminal passes on
  ctrl_c,  ///< what the line had is gone
  end,     ///< Ctrl-D, or the terminal is gone
};

struct Typed {
  TypedKind kind = TypedKind::end;
  std::string line = {};  ///< without its end
};

class LineReader {
 public:
  /// The most bytes of a line, its end not counted.
  static constexpr std::size_t kLineBytesMax = 4095;

  explicit LineReader(CtrlC& ctrl_c) : ctrl_c_(ctrl_c) {}

  /// Waits for the next line of the standard input.
  Typed read();

 private:
  CtrlC& ctrl_c_;
  std::string unread_;  // what came after the last line
};

}  // namespace forge::apps
