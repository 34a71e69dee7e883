// Where and when prompts become tokens: not on the thread that serves everybody, and not if they
// will be refused anyway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A ByteTokenizer that counts its texts. While it is closed, those of some size wait.
class GateTokenizer final : public text::Tokenizer {
 public:
  /// From now on texts of `bytes` and more wait, until open().
  void close(std::size_t bytes = 0) { set_gate(bytes); }
  void open() { set_gate(std::numeric_limits<std::size_t>::max()); }

  std::size_t texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  void wait_for_texts(std::size_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return texts_ >= count; });
  }

  text::EncodedText encode(std::string_view text, text::EncodeOptions options) const override {
    std::unique_lock lock(mutex_);
    ++texts_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return text.size() < gate_bytes_; });
    if (text == "throw") throw std::runtime_error("told to throw");
    return bytes_.encode(text, options);
  }
  std::uint32_t vocabulary_size() const override { return bytes_.vocabulary_size(); }
  std::optional<std::size_t> token_bytes_max() const override { return 1; }
  std::string_view bytes_of(TokenId token) const override { return bytes_.bytes_of(token); }
  bool is_control(TokenId token) const override { return bytes_.is_control(token); }
  std::span<const TokenId> eos_tokens() const override { return bytes_.eos_tokens(); }

 private:
  void set_gate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    gate_bytes_ = bytes;
    changed_.notify_all();
  }

  text::ByteTokenizer bytes_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::size_t texts_ = 0;
  std::size_t gate_bytes_ = std::numeric_limits<std::size_t>::max();
};

/// More than is tokenized with the short ones.
const std::string kLongText(20'000, 'l');

class HttpTokenize : public ::testing::Test {
 protected:
  /// The tokenizer opens before the server ends, which waits for it.
  ~HttpTokenize() override { tokenizer_.open(); }

  TestServer& start(TestServerOptions options = {}) {
    options.tokenizer = &tokenizer_;
    return server_.emplace(options);
  }
  TestServer& start_with_long_context() {
    return start({.scheduler = {.cache = {.num_blocks = 4096, .block_size = 16},
                                .batch = {.max_batch_size = 16}}});
  }

  static void ask(HttpClient& client, const std::string& prompt, int max_tokens = 4) {
    client.send(HttpClient::text("/v1/completions", completion(prompt, max_tokens)));
  }
  static void expect_answer(HttpClient& client, const std::string& prompt, int max_tokens = 4) {
    const auto response = client.read();
    EXPECT_EQ(response.status, 200U) << response.body;
    EXPECT_EQ(response.json()["choices"][0]["text"],
              expected_text(prompt, static_cast<std::uint32_t>(max_tokens)));
  }

  /// Goes, and returns when the server has noticed: `others` are still connected.
  static void leave(TestServer& server, HttpClient& gone, std::size_t others) {
    gone.reset();
    HttpClient observer(server.port());
    while (observer.get("/forge/v1/health").json()["connections"] != others + 1) {
      std::this_thread::yield();
    }
  }

  GateTokenizer tokenizer_;
  std::optional<TestServer> server_;
};

TEST_F(HttpTokenize, everybody_is_served_while_a_text_is_tokenized) {
  TestServer& server = start_with_long_context();
  server.executor.allow_only(1);
  HttpClient streaming(server.port());
  streaming.send(HttpClient::text("/v1/completions", stream("s", 50)));
  streaming.read_header();
  tokenizer_.close();
  HttpClient client(server.port());
  ask(client, "x");
  tokenizer_.wait_for_texts(2);
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
  HttpClient refused(server.port());
  EXPECT_EQ(refused.post("/v1/completions", {{"model", "fake"}}).status, 400U);
  server.executor.release();
  EXPECT_EQ(streaming.read_events().back(), "[DONE]");
  tokenizer_.open();
  expect_answer(client, "x");
}

TEST_F(HttpTokenize, who_sends_little_does_not_wait_behind_who_sends_much) {
  TestServer& server = start_with_long_context();
  tokenizer_.close(kLongText.size());
  HttpClient sends_much(server.port());
  ask(sends_much, kLongText);
  tokenizer_.wait_for_texts(1);
  HttpClient sends_little(server.port());
  ask(sends_little, "little");
  expect_answer(sends_little, "little");
  tokenizer_.open();
  expect_answer(sends_much, kLongText);
}

TEST_F(HttpTokenize, answers_on_one_connection_keep_the_order_of_its_requests) {
  TestServer& server = start_with_long_context();
  tokenizer_.close(kLongText.size());
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion(kLongText, 4)) +
              HttpClient::text("/v1/completions", completion("second", 4)) +
              HttpClient::text("GET", "/healthz", ""));
  tokenizer_.wait_for_texts(1);
  tokenizer_.open();
  expect_answer(client, kLongText);
  expect_answer(client, "second");
  EXPECT_EQ(client.read().json()["status"], "ok");
}

TEST_F(HttpTokenize, a_client_that_goes_while_its_text_is_tokenized_is_noticed_at_once) {
  TestServer& server = start_with_long_context();
  tokenizer_.close();
  HttpClient gone(server.port());
  ask(gone, "gone", 1000);
  tokenizer_.wait_for_texts(1);
  leave(server, gone, 0);
  tokenizer_.open();
  HttpClient other(server.port());
  ask(other, "other");
  expect_answer(other, "other");
  EXPECT_EQ(server.loop().status().generated_tokens, 4U) << "nothing was run for who is gone";
}

TEST_F(HttpTokenize, the_text_of_a_client_that_has_gone_is_not_begun) {
  TestServer& server = start_with_long_context();
  tokenizer_.close();
  HttpClient first(server.port());
  ask(first, "first");
  tokenizer_.wait_for_texts(1);
  HttpClient gone(server.port());
  ask(gone, "gone");
  leave(server, gone, 1);
  tokenizer_.open();
  expect_answer(first, "first");
  ask(first, "after");
  expect_answer(first, "after");
  EXPECT_EQ(tokenizer_.texts(), 2U);
}

TEST_F(HttpTokenize, a_tokenizer_that_throws_costs_one_request) {
  TestServer& server = start_with_long_context();
  HttpClient client(server.port());
  const auto response = client.post("/v1/completions", completion("throw", 4));
  EXPECT_EQ(response.status, 500U);
  EXPECT_THAT(response.json()["error"]["message"], HasSubstr("told to throw"));
  ask(client, "x");
  expect_answer(client, "x");
}

TEST_F(HttpTokenize, time_that_a_text_waits_counts) {
  TestServer& server = start_with_long_context();
  server.executor.slow_down(std::chrono::milliseconds(40));
  tokenizer_.close();
  HttpClient client(server.port());
  json body = completion("x", 1000);
  body["timeout_s"] = 0.1;
  client.send(HttpClient::text("/v1/completions", body));
  tokenizer_.wait_for_texts(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  tokenizer_.open();
  const json answer = client.read().json();
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "deadline");
  EXPECT_LE(answer["usage"]["completion_tokens"], 1) << "its time was over before the first step";
}

TEST_F(HttpTokenize, a_server_that_shuts_down_answers_what_waits_to_be_tokenized) {
  TestServer& server = start_with_long_context();
  tokenizer_.close();
  HttpClient first(server.port());
  ask(first, "first");
  tokenizer_.wait_for_texts(1);
  HttpClient second(server.port());
  ask(second, "second");
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U) << "the request is read";
  server->shutdown();
  tokenizer_.open();
  expect_answer(first, "first");
  expect_answer(second, "second");
  first.close();
  second.close();
  server->wait_for_end();
}

TEST_F(HttpTokenize, a_server_may_end_with_texts_that_nobody_waits_for) {
  TestServer& server = start_with_long_context();
  tokenizer_.close();
  std::vector<std::unique_ptr<HttpClient>> gone;
  for (int i = 0; i < 4; ++i) {
    gone.push_back(std::make_unique<HttpClient>(server.port()));
    ask(*gone.back(), i % 2 == 0 ? "short" : kLongText);
  }
  tokenizer_.wait_for_texts(2);
  for (std::size_t left = gone.size(); left > 0; --left) leave(server, *gone[left - 1], left - 1);
  server->shutdown();
  server->wait_for_end();
  std::thread opener([this] { tokenizer_.open(); });
  server_.reset();
  opener.join();
  EXPECT_EQ(tokenizer_.texts(), 2U);
}

/// Requests that are refused without their texts having become tokens.
class HttpTokenizeInVain : public HttpTokenize {
 protected:
  /// The status; checks that no text has been tokenized.
  unsigned refused(const TestServer& server, const json& patch) {
    json body = completion("x", 4);
    for (const auto& [name, value] : patch.items()) body[name] = value;
    const std::size_t before = tokenizer_.texts();
    const auto response = HttpClient(server.port()).post("/v1/completions", body);
    EXPECT_EQ(tokenizer_.texts(), before) << patch.dump().substr(0, 200);
    return response.status;
  }
};

TEST_F(HttpTokenizeInVain, bad_fields) {
  TestServer& server = start({.queue_limit = 3});
  EXPECT_EQ(refused(server, {{"temperature", 3}}), 400U);
  EXPECT_EQ(refused(server, {{"tempreature", 1}}), 400U);
  EXPECT_EQ(refused(server, {{"stop", json::array({1})}}), 400U);
  EXPECT_EQ(refused(server, {{"model", "other"}}), 404U);
  EXPECT_EQ(refused(server, {{"prompt", {"x", 1}}}), 400U);
  EXPECT_EQ(refused(server, {{"prompt", json::array({"x", json::array({320})})}}), 400U);
  EXPECT_EQ(refused(server, {{"session", 1}, {"prompt", {"x", "y"}}}), 400U);
  EXPECT_EQ(refused(server, {{"session", 1}, {"prefix_cache", "disable"}}), 400U);
  EXPECT_EQ(refused(server, {{"prompt", {"a", "b", "c", "d"}}}), 400U) << "the queue holds three";
}

TEST_F(HttpTokenizeInVain, what_does_not_fit) {
  TestServer& server = start();
  EXPECT_EQ(refused(server, {{"prompt", std::string(500'000, 'x')}}), 400U);
  EXPECT_EQ(refused(server, {{"prompt", {"x", std::string(8189, 'x')}}}), 400U);
  EXPECT_EQ(refused(server, {{"prompt", json::array({"x", std::vector<int>(8189, 1)})}}), 400U);
  EXPECT_EQ(refused(server, {{"max_tokens", 8192}}), 400U);
}

TEST_F(HttpTokenizeInVain, what_needs_a_prefix_cache_where_there_is_none) {
  TestServer& server = start({.scheduler = {.cache = {.num_blocks = 64, .block_size = 16},
                                            .batch = {.max_batch_size = 4},
                                            .prefix_cache = PrefixCacheKind::none}});
  EXPECT_EQ(refused(server, {{"session", 1}}), 400U);
}

TEST_F(HttpTokenizeInVain, what_a_full_queue_has_no_place_for) {
  TestServer& server = start({.scheduler = {.batch = {.max_batch_size = 1}}, .queue_limit = 2});
  server.executor.allow_only(1);
  HttpClient running(server.port());
  ask(running, "running");
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  HttpClient waiting(server.port());
  ask(waiting, "waiting");
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));
  EXPECT_EQ(refused(server, {{"prompt", {"one", "two"}}}), 503U);
  HttpClient last(server.port());
  ask(last, "last");
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 2; }));
  EXPECT_EQ(refused(server, {}), 503U);
  server.executor.release();
  expect_answer(running, "running");
  expect_answer(waiting, "waiting");
  expect_answer(last, "last");
}

TEST_F(HttpTokenizeInVain, what_a_lost_target_cannot_run) {
  TestServer& server = start();
  server.executor.lose();
  EXPECT_EQ(HttpClient(server.port()).post("/v1/completions", completion("x", 4)).status, 500U);
  EXPECT_EQ(refused(server, {}), 503U);
}

TEST_F(HttpTokenizeInVain, what_a_loop_that_drains_does_not_take) {
  TestServer& server = start();
  server.loop().drain();
  EXPECT_EQ(refused(server, {}), 503U);
}

TEST_F(HttpTokenizeInVain, what_arrives_while_the_server_shuts_down) {
  TestServer& server = start();
  HttpClient client(server.port());
  const std::string request = HttpClient::text("/v1/completions", completion("x", 5));
  client.send(request.substr(0, 20));
  // Answered after the first part of the request above has been read.
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
  server->shutdown();
  client.send(request.substr(20));
  EXPECT_EQ(client.read().status, 503U);
  EXPECT_EQ(tokenizer_.texts(), 0U);
  client.close();
  server->wait_for_end();
}

}  // namespace
}  // namespace forge::test
