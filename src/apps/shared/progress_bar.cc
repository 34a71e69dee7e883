#include "progress_bar.h"

#include <unistd.h>

#include <iostream>

namespace forge::apps {

ProgressBar::ProgressBar(std::string label, std::size_t total, std::string unit)
    : label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (is_terminal_) std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressBar::update(std::size_t done) {
  if (!is_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = total_ == 0 ? kWidth : done * kWidth / total_;
  std::cerr << '\r' << label_ << " [" << std::string(filled, '#')
            << std::string(kWidth - filled, ' ') << "] " << done << '/' << total_ << ' ' << unit_
            << std::flush;
}

}  // namespace forge::apps
