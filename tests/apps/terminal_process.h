// A program in a terminal of its own (a pty), at which a test types.
#pragma once

#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace forge::testing {

inline constexpr const char* kCtrlC = "\x03";
inline constexpr const char* kCtrlD = "\x04";

class TerminalProcess {
 public:
  /// The program and its arguments. What is typed is not shown, so that the screen has the
  /// program's words alone.
  explicit TerminalProcess(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (pid_ != 0) return;
    termios settings{};
    tcgetattr(STDIN_FILENO, &settings);
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    settings.c_lflag |= NOFLSH;  // Ctrl-C throws away nothing that the test has not read
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // a line ends with \n
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  TerminalProcess(const TerminalProcess&) = delete;
  TerminalProcess& operator=(const TerminalProcess&) = delete;
  ~TerminalProcess() {
    close(terminal_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait();
  }

  /// Keys, as one presses them: a line ends with \n.
  void type(const std::string& keys) const {
    [[maybe_unused]] const ssize_t written = write(terminal_, keys.data(), keys.size());
  }

  /// Waits for `text`. Returns what was on the screen before it, since what was waited for last;
  /// all there is if it never comes.
  std::string until(const std::string& text) {
    std::size_t at = unread_.find(text);
    while (at == std::string::npos && read_some()) at = unread_.find(text);
    if (at == std::string::npos) return std::exchange(unread_, "") + "<the end>";
    std::string before = unread_.substr(0, at);
    unread_.erase(0, at + text.size());
    return before;
  }

  /// Waits for anything to be on the screen since what was waited for last.
  bool shows_something() { return !unread_.empty() || read_some(); }

  /// Waits for its end. Returns: its exit status, or 128 + the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  bool read_some() {
    std::array<char, 4096> bytes{};
    const ssize_t count = read(terminal_, bytes.data(), bytes.size());  // fails once it has ended
    if (count <= 0) return false;
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string unread_;
};

}  // namespace forge::testing
