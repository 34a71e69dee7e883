// A program in a process of its own, whose outputs a test reads, and takes away.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace forge::testing {

class ChildProcess {
 public:
  /// The program and its arguments. `file_bytes_max`: no file that it writes may be longer.
  explicit ChildProcess(const std::vector<std::string>& command,
                        std::optional<rlim_t> file_bytes_max = std::nullopt) {
    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return;
    output_ = pipe_ends[0];
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(pipe_ends[1], STDOUT_FILENO);
      dup2(pipe_ends[1], STDERR_FILENO);
      const rlimit limit = {file_bytes_max.value_or(RLIM_INFINITY), RLIM_INFINITY};
      if (file_bytes_max) setrlimit(RLIMIT_FSIZE, &limit);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(pipe_ends[1]);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    close_output();
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait();
  }

  /// Reads its standard output and error until `text` has come; false if they end first.
  bool says(const std::string& text) {
    while (said_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  /// All that it says until it ends or closes its outputs.
  const std::string& read_all() {
    while (read_some()) {
    }
    return said_;
  }
  const std::string& said() const { return said_; }

  /// From now on its standard output and error are pipes without a reader.
  void close_output() {
    if (output_ >= 0) close(std::exchange(output_, -1));
  }

  void send(int signal_number) const { kill(pid_, signal_number); }

  /// Waits for its end. Returns: its exit status, or 128 + the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  bool read_some() {
    std::array<char, 4096> bytes{};
    const ssize_t count = output_ < 0 ? 0 : read(output_, bytes.data(), bytes.size());
    if (count <= 0) return false;
    said_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  pid_t pid_ = -1;
  int output_ = -1;
  std::string said_;
};

}  // namespace forge::testing
