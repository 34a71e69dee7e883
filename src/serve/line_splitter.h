// LineSplitter: the lines of a text that arrives in parts, of which no more is kept than the parts
// that were put and not taken yet, and of a line that is not whole as much as a line may have.
//
//   put("a\n\nbb")   next(): "a", nothing        lines without anything are passed over
//   put("b\r\n")     next(): "bbb", nothing      \r\n ends a line, too
//   put("c")         next(): nothing
//   finish()         next(): "c", nothing        what follows the last line break is a line
//
// Of a line that is too long only that is known; the rest goes on behind it.
//
// Thread contract: none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace forge::serve {

class LineSplitter {
 public:
  struct Line {
    std::size_t number = 0;  ///< from 1, those without anything counted
    std::string text;        ///< empty if it is too long
    bool is_too_long = false;
  };

  explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  /// Requires: next() has returned nothing since the last one; not finish()ed.
  void put(std::string_view bytes) { held_ += bytes; }
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }
  std::size_t number() const { return number_; }  ///< of the last line that was taken

  /// The next line that is whole.
  std::optional<Line> next();

 private:
  /// The next line, be there anything in it or not.
  std::optional<Line> next_line();

  std::size_t line_bytes_max_;
  std::string held_;
  std::size_t begin_ = 0;     // in held_: what is before has been taken
  std::size_t searched_ = 0;  // in held_: there is no line break from begin_ to here
  std::size_t number_ = 0;    // of the last line that was taken
  bool is_too_long_ = false;  // the line that is not whole is
  bool is_finished_ = false;
};

}  // namespace forge::serve
