#include "serve/test_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

#include "forge/engine/engine.h"
#include "forge/serve/http_server.h"

namespace forge::test {

serve::ModelCard model_of(const TestServerOptions& options) {
  const SchedulerConfig& config = options.scheduler;
  return {.id = options.model_id,
          .vocabulary_size = 320,
          .context_tokens = std::uint64_t{config.cache.num_blocks} * config.cache.block_size,
          .created = 1'700'000'000,
          .chat = options.chat,
          .grammars = options.grammars,
          .draft_source = options.draft_source,
          .kv_type = "f32",
          .memory = {{"host", "kv", 1024}},
          .fingerprint = options.fingerprint};
}

struct RunningServer::Parts {
  Parts(Executor& executor, const TestServerOptions& options)
      : engine(options.scheduler, executor, nullptr, options.on_target_lost),
        loop(engine, options.tokenizer != nullptr ? *options.tokenizer : bytes,
             engine::EngineLoop::Options{.queue_limit = options.queue_limit,
                                         .refuse_under_pressure = options.refuse_under_pressure,
                                         .acceptance = options.acceptance}),
        server(io, options.http),
        place(server.listen(options.address).value().port, options.address.path,
              options.certificate.has_value()),
        thread([this, options] {
          server.serve(loop, model_of(options));
          if (options.keys) server.set_keys(*options.keys);
          if (options.certificate) server.set_certificate(*options.certificate);
          io.run();
        }) {}

  boost::asio::io_context io;  // outlives the loop, which posts to it
  text::ByteTokenizer bytes;
  engine::Engine engine;
  engine::EngineLoop loop;
  serve::HttpServer server;
  ServerPlace place;
  std::thread thread;
};

RunningServer::RunningServer(Executor& executor, const TestServerOptions& options)
    : parts_(std::make_unique<Parts>(executor, options)) {}

RunningServer::~RunningServer() {
  if (!parts_->thread.joinable()) return;
  parts_->server.shutdown();
  parts_->thread.join();
}

std::uint16_t RunningServer::port() const { return parts_->place.port; }
ServerPlace RunningServer::place() const { return parts_->place; }
engine::EngineLoop& RunningServer::loop() const { return parts_->loop; }

void RunningServer::set_keys(serve::ApiKeys keys) {
  boost::asio::post(parts_->io, [this, keys = std::move(keys)] { parts_->server.set_keys(keys); });
}

void RunningServer::set_certificate(serve::TlsCertificate certificate) {
  boost::asio::post(parts_->io, [this, certificate = std::move(certificate)] {
    parts_->server.set_certificate(certificate);
  });
}

void RunningServer::shutdown() { parts_->server.shutdown(); }
void RunningServer::wait_for_end() { parts_->thread.join(); }

bool RunningServer::eventually(
    const std::function<bool(const engine::EngineStatus&)>& condition) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition(parts_->loop.status())) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool RunningServer::eventually_idle() const {
  return eventually([](const engine::EngineStatus& status) {
    return status.running == 0 && status.waiting == 0 &&
           status.free_blocks + status.evictable_blocks == status.total_blocks;
  });
}

nlohmann::json completion(std::string prompt, int max_tokens) {
  return {{"model", "fake"},
          {"prompt", std::move(prompt)},
          {"max_tokens", max_tokens},
          {"temperature", 0}};
}

nlohmann::json stream(std::string prompt, int max_tokens) {
  nlohmann::json body = completion(std::move(prompt), max_tokens);
  body["stream"] = true;
  return body;
}

std::string expected_text(const std::string& prompt, std::uint32_t tokens) {
  const Request request{.prompt = text::ByteTokenizer::tokens_of(prompt)};
  std::string text;
  for (std::uint32_t i = 0; i < tokens; ++i) {
    text += static_cast<char>(*text::ByteTokenizer::byte_of(letter_at(request, i)));
  }
  return text;
}

}  // namespace forge::test
