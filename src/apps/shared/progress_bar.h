// ProgressBar: one line on a terminal's stderr, nothing anywhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace forge::apps {

class ProgressBar {
 public:
  /// `unit` is what is counted.
  ProgressBar(std::string label, std::size_t total, std::string unit = "requests");
  /// Erases the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws at most ten times a second.
  void update(std::size_t done);

 private:
  std::string label_;
  std::size_t total_;
  std::string unit_;
  bool is_terminal_;
  std::chrono::steady_clock::time_point next_draw_{};
};

}  // namespace forge::apps
