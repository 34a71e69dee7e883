// ServerProcess: forge-infer in a process and on a port of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/child_process.h"
#include "serve/http_client.h"

namespace forge::testing {

class ServerProcess : public ChildProcess {
 public:
  /// `flags`: more of the command line. `file_bytes_max`: as ChildProcess has it.
  explicit ServerProcess(const std::vector<std::string>& flags,
                         std::optional<rlim_t> file_bytes_max = std::nullopt)
      : ChildProcess(command(flags), file_bytes_max) {
    find_port();
  }
  /// Records into `trace`, if that is not empty.
  explicit ServerProcess(const std::string& trace,
                         std::optional<rlim_t> file_bytes_max = std::nullopt)
      : ServerProcess(recording(trace), file_bytes_max) {}
  /// `command`: the program and its flags, for a shell; `folder`: where.
  static std::unique_ptr<ServerProcess> by_shell(const std::string& folder,
                                                 const std::string& command) {
    const std::string line = "cd '" + folder + "' && exec " + command + " --addr 127.0.0.1:0";
    return std::unique_ptr<ServerProcess>(new ServerProcess(Shell{line}));
  }

  bool listens() const { return port_ != 0; }
  std::uint16_t port() const { return port_; }

  test::HttpClient::Response complete(const nlohmann::json& body) const {
    return test::HttpClient(port_).post("/v1/completions", body);
  }
  /// The answer of the reference model to question().
  std::string complete(int max_tokens) const { return complete(question(max_tokens)).body; }
  test::HttpClient::Response health() const {
    return test::HttpClient(port_).get("/forge/v1/health");
  }

  static nlohmann::json question(int max_tokens) {
    return {{"model", "forge-tiny"},
            {"prompt", "Once upon a time"},
            {"max_tokens", max_tokens},
            {"ignore_eos", true}};
  }

  int end() {
    send(SIGTERM);
    return wait();
  }

 private:
  struct Shell {
    std::string line;
  };
  explicit ServerProcess(const Shell& shell) : ChildProcess({"/bin/sh", "-c", shell.line}) {
    find_port();
  }

  static std::vector<std::string> recording(const std::string& trace) {
    if (trace.empty()) return {};
    return {"--trace", trace, "--expose-text"};
  }
  static std::vector<std::string> command(const std::vector<std::string>& flags) {
    std::vector<std::string> words = {FORGE_INFER, "--addr", "127.0.0.1:0"};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }

  void find_port() {
    const std::string before_port = "127.0.0.1:";
    if (!says("\"max_tokens\": 64}'\n")) {  // the end of what it says at the start
      ADD_FAILURE() << "it ended: " << said();
      return;
    }
    const std::size_t port = said().find(before_port) + before_port.size();
    port_ = static_cast<std::uint16_t>(std::stoi(said().substr(port)));
  }

  std::uint16_t port_ = 0;
};

}  // namespace forge::testing
