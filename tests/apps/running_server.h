// forge-infer as a process, on a port of its own.
#pragma once

#include <csignal>
#include <string>
#include <thread>

#include "apps/programs.h"

namespace forge::testing {

/// forge-infer in the background, until it goes out of scope.
class Server {
 public:
  /// `command` is the program and its flags, but for --addr.
  Server(const std::string& command, const std::string& log) {
    const std::string line = "exec " + command + " --addr 127.0.0.1:0 > " + log + " 2>&1";
    pid_ = fork();
    if (pid_ == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    while (port_.empty() && waitpid(pid_, nullptr, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::string text = read_file(log);
      const std::size_t at = text.find("127.0.0.1:");
      if (at != text.npos && text.find('\n', at) != text.npos) {
        port_ = text.substr(at + 10, text.find('\n', at) - at - 10);
      }
    }
    if (port_.empty()) ADD_FAILURE() << command << " ended: " << read_file(log);
  }
  ~Server() {
    if (port_.empty()) return;  // it has ended
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string complete(const std::string& body) const {
    const std::string request =
        "POST /v1/completions HTTP/1.1\\r\\nHost: forge\\r\\nConnection: "
        "close\\r\\nContent-Type: application/json\\r\\nContent-Length: " +
        std::to_string(body.size()) + "\\r\\n\\r\\n" + body;
    return run("bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port_ + " && printf \"%b\" " + "\"" +
               escaped(request) + "\" >&3 && cat <&3'")
        .output;
  }

  std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoi(port_)); }

 private:
  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '"' ? "\\\"" : std::string(1, c);
    return out;
  }

  pid_t pid_ = 0;
  std::string port_;
};

}  // namespace forge::testing
