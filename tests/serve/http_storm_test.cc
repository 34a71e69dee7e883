// Many clients that do everything a client can do wrong, at once: whoever does it right gets the
// answer of a quiet server, and nothing is left behind. A short form; the seed is fixed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

/// Conversations, by their ids.
constexpr unsigned kSessions = 4;

/// Closes in an orderly way or by a reset.
void leave(HttpClient& client, bool rudely) {
  if (rudely) {
    client.reset();
  } else {
    client.close();
  }
}

/// Limits that nobody meets, whose counts are kept.
constexpr serve::ClientLimits kAmple{
    .concurrent = 1'000'000, .waiting = 1'000'000, .tokens_per_minute = 1'000'000'000};

/// True once no request counts any more; false if that is not so within a minute.
bool eventually_nothing_counts(std::uint16_t port) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::string left;
  while (left != "1000000" && std::chrono::steady_clock::now() < deadline) {
    left = HttpClient(port)
               .post("/v1/completions", json::object())
               .header("x-ratelimit-remaining-requests");
  }
  return left == "1000000";
}

TEST(HttpStorm, a_client_may_leave_after_any_byte_of_its_request) {
  TestServer server({.http = {.client_limits = kAmple}});
  const std::string request = HttpClient::text("/v1/completions", stream("x", 3));
  for (std::size_t sent = 0; sent <= request.size(); ++sent) {
    HttpClient client(server.port());
    client.send(request.substr(0, sent));
    leave(client, sent % 2 == 0);
  }
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_TRUE(eventually_nothing_counts(server.port()));
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

TEST(HttpStorm, a_client_may_leave_after_any_byte_of_its_answer) {
  TestServer server({.http = {.client_limits = kAmple}});
  const std::string request =
      HttpClient::text("POST", "/v1/completions", stream("x", 3).dump(), {{"Connection", "close"}});
  const std::size_t answer_bytes = [&] {
    HttpClient client(server.port());
    client.send(request);
    return client.read_to_end().size();
  }();
  for (std::size_t read = 0; read < answer_bytes; read += 3) {
    HttpClient client(server.port());
    client.send(request);
    client.read_bytes(read);
    leave(client, read % 2 == 0);
  }
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_TRUE(eventually_nothing_counts(server.port()));
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

/// One client of the storm. Each request is a fresh throw of the dice.
class StormClient {
 public:
  StormClient(std::uint16_t port, unsigned seed) : port_(port), random_(seed) {}

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      switch (dice(8)) {
        case 0:
          spoiled();
          break;
        case 1:
          not_http();
          break;
        case 2:
          leaves_early();
          break;
        case 3:
          half_closed();
          break;
        case 4:
          in_chunks();
          break;
        case 5:
          streamed();
          break;
        default:
          whole();
      }
    }
  }

  int wrong() const { return wrong_; }
  int right() const { return right_; }

 private:
  unsigned dice(unsigned sides) { return static_cast<unsigned>(random_() % sides); }
  std::string prompt() { return "prompt " + std::to_string(dice(20)); }
  int tokens() { return 1 + static_cast<int>(dice(12)); }

  json body(const std::string& prompt, int tokens) {
    json body = completion(prompt, tokens);
    if (dice(2) == 0) body["priority"] = std::vector{"low", "normal", "high"}[dice(3)];
    if (dice(3) == 0) body["session"] = dice(kSessions);
    return body;
  }

  void expect(bool holds) { ++(holds ? right_ : wrong_); }

  void whole() {
    const std::string text = prompt();
    const int count = tokens();
    HttpClient client(port_);
    const auto response = client.post("/v1/completions", body(text, count));
    expect(response.status == 200 && response.json()["choices"][0]["text"] ==
                                         expected_text(text, static_cast<std::uint32_t>(count)));
  }
  void streamed() {
    const std::string text = prompt();
    const int count = tokens();
    json request = body(text, count);
    request["stream"] = true;
    HttpClient client(port_);
    client.send(HttpClient::text("/v1/completions", request));
    client.read_header();
    std::string streamed;
    while (const auto event = client.next_event()) {
      if (*event != "[DONE]") streamed += json::parse(*event)["choices"][0]["text"];
    }
    expect(streamed == expected_text(text, static_cast<std::uint32_t>(count)));
  }
  void in_chunks() {
    const std::string bytes = body("chunked", 5).dump();
    std::string request =
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char byte : bytes) request += std::string("1;a=b\r\n") + byte + "\r\n";
    HttpClient client(port_);
    client.send(request + "0\r\n\r\n");
    expect(client.read().json()["choices"][0]["text"] == expected_text("chunked", 5));
  }
  void half_closed() {
    HttpClient client(port_);
    client.send(HttpClient::text("/v1/completions", body("half", 9)));
    client.close_sending_side();
    expect(client.read_to_end().find(expected_text("half", 9)) != std::string::npos);
  }
  void spoiled() {
    json request = body(prompt(), tokens());
    const std::vector<std::pair<const char*, json>> faults{
        {"temperature", 3}, {"max_tokens", 0},   {"priority", "urgent"},      {"top_p", 1.5},
        {"session", -1},    {"prompt", nullptr}, {"stop", json::array({""})}, {"no_such_field", 1},
        {"stream", "yes"}};
    const auto& [field, value] = faults[dice(static_cast<unsigned>(faults.size()))];
    request[field] = value;
    HttpClient client(port_);
    const auto response = client.post("/v1/completions", request);
    expect(response.status == 400 && response.json()["error"]["param"] == field);
  }
  void not_http() {
    std::string noise;
    for (unsigned i = dice(40); i > 0; --i) noise += static_cast<char>(1 + dice(255));
    HttpClient client(port_);
    client.send("\x16" + noise + "\r\n\r\n");
    expect(client.read().status >= 400);
  }
  void leaves_early() {
    json request = body(prompt(), 150);
    request["stream"] = true;
    HttpClient client(port_);
    client.send(HttpClient::text("/v1/completions", request));
    if (dice(2) == 0) client.read_bytes(1 + dice(2000));
    leave(client, dice(2) == 0);
  }

  std::uint16_t port_;
  std::mt19937 random_;
  int right_ = 0;
  int wrong_ = 0;
};

TEST(HttpStorm, answers_are_those_of_a_quiet_server_and_nothing_is_left) {
  constexpr int kClients = 8;
  TestServer server(
      {.scheduler = {.cache = {.num_blocks = 48, .block_size = 4, .num_host_blocks = 16},
                     .batch = {.max_batch_size = 6}},
       .http = {.max_connections = 64, .client_limits = kAmple}});
  server.executor.drafts = 2;
  std::vector<StormClient> clients;
  for (unsigned i = 0; i < kClients; ++i) clients.emplace_back(server.port(), 100 + i);
  std::vector<std::thread> threads;
  for (StormClient& client : clients) threads.emplace_back([&client] { client.run(60); });
  for (std::thread& thread : threads) thread.join();
  for (const StormClient& client : clients) {
    EXPECT_EQ(client.wrong(), 0);
    EXPECT_GT(client.right(), 20);
  }
  for (unsigned session = 0; session < kSessions; ++session) {
    HttpClient client(server.port());
    client.send(HttpClient::text("DELETE", "/forge/v1/sessions/" + std::to_string(session), ""));
    client.read();
  }
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_TRUE(eventually_nothing_counts(server.port()));
}

}  // namespace
}  // namespace forge::test
