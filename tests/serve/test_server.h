// TestServer: the real server on a free port, over an engine with a fake target.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/fake_executor.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/address.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/http_options.h"
#include "forge/serve/openai_api.h"
#include "forge/serve/tls_certificate.h"
#include "serve/http_client.h"

namespace forge::test {

struct TestServerOptions {
  SchedulerConfig scheduler{.cache = {.num_blocks = 512, .block_size = 16},
                            .batch = {.max_batch_size = 16}};
  std::size_t queue_limit = 256;
  bool refuse_under_pressure = false;
  engine::OnTargetLost on_target_lost = engine::OnTargetLost::exit;
  serve::HttpOptions http{.linger_timeout = std::chrono::milliseconds(500)};
  NextToken next_token = letter_at;
  std::string model_id = "fake";
  serve::ServedChatFormat chat = serve::default_chat_format();
  const text::Tokenizer* tokenizer =
      nullptr;  // outlives the server; a ByteTokenizer if there is none
  std::shared_ptr<grammar::OutputCompiler> grammars = nullptr;
  std::string_view draft_source = {};
  std::optional<receipt::Fingerprint> fingerprint = std::nullopt;
  engine::AcceptanceBand acceptance = {};
  std::optional<serve::ApiKeys> keys = std::nullopt;
  std::optional<serve::TlsCertificate> certificate = std::nullopt;
  serve::Address address = {.host = "127.0.0.1", .port = 0};
};

serve::ModelCard model_of(const TestServerOptions& options);

/// The server over any target, which must outlive it.
class RunningServer {
 public:
  RunningServer(Executor& executor, const TestServerOptions& options);
  /// Requires: the target makes progress.
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  std::uint16_t port() const;
  ServerPlace place() const;
  engine::EngineLoop& loop() const;

  void set_keys(serve::ApiKeys keys);
  void set_certificate(serve::TlsCertificate certificate);
  void shutdown();
  /// Returns when the server has nothing left to do.
  void wait_for_end();

  /// True once `condition` holds of the engine's status; false if it does not within a minute.
  bool eventually(const std::function<bool(const engine::EngineStatus&)>& condition) const;
  bool eventually_idle() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The server over a fake target.
class TestServer {
 public:
  explicit TestServer(const TestServerOptions& options = {})
      : executor(options.next_token), server_(executor, options) {}
  ~TestServer() { executor.release(); }

  std::uint16_t port() const { return server_.port(); }
  ServerPlace place() const { return server_.place(); }
  engine::EngineLoop& loop() { return server_.loop(); }
  RunningServer* operator->() { return &server_; }

  FakeExecutor executor;

 private:
  RunningServer server_;
};

/// A body for POST /v1/completions: greedy.
nlohmann::json completion(std::string prompt, int max_tokens);
nlohmann::json stream(std::string prompt, int max_tokens);

/// What the fake target says to `prompt`, greedily.
std::string expected_text(const std::string& prompt, std::uint32_t tokens);

}  // namespace forge::test
