// The lines of a text as one text, for tests and the fuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "line_splitter.h"

namespace forge::test {

/// "1:a 3:too long ", of a text that arrives in parts of `part` bytes.
inline std::string lines_of(std::string_view text, std::size_t part, std::size_t line_bytes_max) {
  serve::LineSplitter splitter(line_bytes_max);
  std::string lines;
  const auto take = [&] {
    while (const auto line = splitter.next()) {
      lines += std::to_string(line->number) + ":" + (line->is_too_long ? "too long" : line->text);
      lines += " ";
    }
  };
  while (!text.empty()) {
    splitter.put(text.substr(0, part));
    text.remove_prefix(std::min(part, text.size()));
    take();
  }
  splitter.finish();
  take();
  return lines;
}

}  // namespace forge::test
