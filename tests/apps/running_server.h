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
    const Outcome started =
        run("sh -c 'exec " + command + " --addr 127.0.0.1:0 > " + log + " 2>&1 & echo $!'");
    pid_ = std::stoi(started.output);
    for (int i = 0; i < 1000 && port_.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::string text = read_file(log);
      const std::size_t at = text.find("127.0.0.1:");
      if (at != text.npos && text.find('\n', at) != text.npos) {
        port_ = text.substr(at + 10, text.find('\n', at) - at - 10);
      }
    }
  }
  ~Server() { kill(pid_, SIGTERM); }

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

  int pid_ = 0;
  std::string port_;
};

}  // namespace forge::testing
