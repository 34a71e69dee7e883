#include "forge/trace/trace_window.h"

#include <utility>

namespace forge::trace {

TraceOutput::Written TraceWindow::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (!part_.last.empty() && part_.last.size() + line.size() > kPieceBytes) {
    part_.pieces.push_back(std::make_shared<const std::string>(std::exchange(part_.last, {})));
  }
  if (part_.last.empty()) part_.last.reserve(kPieceBytes);
  part_.last += line;
  part_.bytes += line.size();
  if (++part_.lines <= 2) part_.start_bytes = part_.bytes;
  return {};
}

bool TraceWindow::is_full() const {
  return part_.bytes >= part_bytes_ && part_.bytes >= 2 * part_.start_bytes;
}

TraceOutput::Written TraceWindow::next() {
  Part gone;  // outlives the lock: to give memory back takes time
  const std::lock_guard lock(mutex_);
  gone = std::exchange(before_, std::exchange(part_, {}));
  return {};
}

std::string TraceWindow::text() const {
  std::vector<std::shared_ptr<const std::string>> pieces;
  const auto take = [&pieces](const Part& part) {
    pieces.insert(pieces.end(), part.pieces.begin(), part.pieces.end());
    pieces.push_back(std::make_shared<const std::string>(part.last));
  };
  {
    const std::lock_guard lock(mutex_);
    take(before_);
    // A part that goes on from another one begins with two lines, which come one by one.
    if (part_.lines >= 2 || before_.lines == 0) take(part_);
  }
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece->size();
  std::string text;
  text.reserve(bytes);
  for (const auto& piece : pieces) text += *piece;
  return text;
}

}  // namespace forge::trace
