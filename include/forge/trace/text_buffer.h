// TextBuffer: text that is built from pieces and used again, keeping its memory.
//
// Like std::string, but a number is written in place by std::to_chars: no temporary, no
// locale, one bounds check a piece.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace forge::trace {

class TextBuffer {
 public:
  void clear() { used_ = 0; }
  std::string_view view() const { return {bytes_.data(), used_}; }

  void append(char c) {
    *room(1) = c;
    ++used_;
  }
  void append(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    used_ += text.size();
  }
  void append(std::unsigned_integral auto number) {
    char* const begin = room(20);  // 2^64 - 1 has 20 digits
    used_ += static_cast<std::size_t>(std::to_chars(begin, begin + 20, number).ptr - begin);
  }
  /// 16 lower-case hexadecimal digits.
  void append_hex(std::uint64_t word) {
    char* const begin = room(16);
    for (int digit = 0; digit < 16; ++digit) {
      begin[digit] = "0123456789abcdef"[(word >> (60 - 4 * digit)) & 0xf];
    }
    used_ += 16;
  }

 private:
  char* room(std::size_t bytes) {
    if (bytes_.size() - used_ < bytes) [[unlikely]]
      grow(bytes);
    return bytes_.data() + used_;
  }
  void grow(std::size_t bytes);

  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

}  // namespace forge::trace
