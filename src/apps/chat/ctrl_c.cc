#include "ctrl_c.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "forge/core/check.h"

namespace forge::apps {
namespace {

// Read by a signal handler, so not a member.
volatile std::sig_atomic_t write_end = -1;

extern "C" void note_ctrl_c(int) {
  const int error = errno;
  // A pipe that is full says it already.
  [[maybe_unused]] const ssize_t written = write(write_end, "", 1);
  errno = error;
}

}  // namespace

CtrlC::CtrlC() {
  std::array<int, 2> ends{};
  FORGE_CHECK(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0, "no pipe: error ", errno);
  pressed_ = ends[0];
  write_end = ends[1];
  struct sigaction action {};
  action.sa_handler = note_ctrl_c;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

CtrlC::~CtrlC() {
  std::signal(SIGINT, SIG_DFL);
  close(write_end);
  close(pressed_);
}

bool CtrlC::take() {
  std::array<char, 64> presses{};
  bool pressed = false;
  while (read(pressed_, presses.data(), presses.size()) > 0) pressed = true;
  return pressed;
}

}  // namespace forge::apps
