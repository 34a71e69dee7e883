#include "line_splitter.h"

#include <algorithm>
#include <utility>

namespace forge::serve {

std::optional<LineSplitter::Line> LineSplitter::next() {
  for (;;) {
    auto line = next_line();
    if (!line || line->is_too_long) return line;
    const bool is_blank = line->text.find_first_not_of(" \t") == std::string::npos;
    if (!is_blank) return line;
  }
}

std::optional<LineSplitter::Line> LineSplitter::next_line() {
  const std::size_t end = held_.find('\n', searched_);
  const bool is_whole = end != std::string::npos;
  const std::size_t last = is_whole ? end : held_.size();
  if (last - begin_ > line_bytes_max_ + 1) is_too_long_ = true;  // the one more may be \r
  if (!is_whole && !is_finished_) {
    held_.erase(0, is_too_long_ ? held_.size() : begin_);
    begin_ = 0;
    searched_ = held_.size();
    return std::nullopt;
  }
  if (!is_whole && last == begin_ && !is_too_long_) return std::nullopt;  // the end of all
  std::string_view text = std::string_view(held_).substr(begin_, last - begin_);
  if (text.ends_with('\r')) text.remove_suffix(1);
  Line line{.number = ++number_, .text = {}, .is_too_long = std::exchange(is_too_long_, false)};
  if (text.size() > line_bytes_max_) line.is_too_long = true;
  if (!line.is_too_long) line.text = text;
  begin_ = searched_ = std::min(last + 1, held_.size());
  return line;
}

}  // namespace forge::serve
