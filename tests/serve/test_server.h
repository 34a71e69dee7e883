// TestServer: the real server on a free port, over an engine with a fake target.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "engine/fake_executor.h"
#include "forge/engine/engine.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/http_server.h"
#include "serve/http_client.h"

namespace forge::test {

struct TestServerOptions {
  SchedulerConfig scheduler{.num_blocks = 512, .block_size = 16, .max_batch_size = 16};
  std::size_t queue_limit = 256;
  HttpOptions http{.linger_timeout = std::chrono::milliseconds(500)};
  NextToken next_token = letter_at;
  std::string model_id = "fake";
  const Tokeniser* tokeniser = nullptr;  // outlives the server; a ByteTokeniser if there is none
};

inline ModelCard model_of(const TestServerOptions& options) {
  const SchedulerConfig& config = options.scheduler;
  return {.id = options.model_id,
          .vocabulary_size = 320,
          .context_tokens = std::uint64_t{config.num_blocks} * config.block_size,
          .created = 1'700'000'000};
}

/// The server over any target, which must outlive it.
class RunningServer {
 public:
  RunningServer(Executor& executor, const TestServerOptions& options)
      : engine_(options.scheduler, executor),
        loop_(engine_, options.tokeniser != nullptr ? *options.tokeniser : bytes_,
              EngineLoop::Options{.queue_limit = options.queue_limit}),
        server_(io_, loop_, model_of(options), options.http),
        port_(server_.listen({.host = "127.0.0.1", .port = 0}).value().port),
        thread_([this] { io_.run(); }) {}
  /// Requires: the target makes progress.
  ~RunningServer() {
    if (!thread_.joinable()) return;
    server_.shutdown();
    thread_.join();
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  std::uint16_t port() const { return port_; }
  EngineLoop& loop() { return loop_; }

  void shutdown() { server_.shutdown(); }
  /// Returns when the server has nothing left to do.
  void wait_for_end() { thread_.join(); }

  /// True once `condition` holds of the engine's status; false if it does not within a minute.
  bool eventually(const std::function<bool(const EngineStatus&)>& condition) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < deadline) {
      if (condition(loop_.status())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  bool eventually_idle() const {
    return eventually([](const EngineStatus& status) {
      return status.running == 0 && status.waiting == 0 &&
             status.free_blocks + status.evictable_blocks == status.total_blocks;
    });
  }

 private:
  boost::asio::io_context io_;  // outlives the loop, which posts to it
  ByteTokeniser bytes_;
  Engine engine_;
  EngineLoop loop_;
  HttpServer server_;
  std::uint16_t port_;
  std::thread thread_;
};

/// The server over a fake target.
class TestServer {
 public:
  explicit TestServer(const TestServerOptions& options = {})
      : executor(options.next_token), server_(executor, options) {}
  ~TestServer() { executor.release(); }

  std::uint16_t port() const { return server_.port(); }
  EngineLoop& loop() { return server_.loop(); }
  RunningServer* operator->() { return &server_; }

  FakeExecutor executor;

 private:
  RunningServer server_;
};

/// A body for POST /v1/completions: greedy.
inline nlohmann::json completion(std::string prompt, int max_tokens) {
  return {{"model", "fake"},
          {"prompt", std::move(prompt)},
          {"max_tokens", max_tokens},
          {"temperature", 0}};
}

inline nlohmann::json stream(std::string prompt, int max_tokens) {
  nlohmann::json body = completion(std::move(prompt), max_tokens);
  body["stream"] = true;
  return body;
}

/// What the fake target says to `prompt`, greedily.
inline std::string expected_text(const std::string& prompt, std::uint32_t tokens) {
  const Request request{.prompt = ByteTokeniser().encode(prompt)};
  std::string text;
  for (std::uint32_t i = 0; i < tokens; ++i) {
    text += static_cast<char>(*ByteTokeniser::byte_of(letter_at(request, i)));
  }
  return text;
}

}  // namespace forge::test
