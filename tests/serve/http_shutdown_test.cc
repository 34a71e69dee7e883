// How a server ends, and how it begins where it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "forge/serve/http_server.h"
#include "serve/proof.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;

TEST(HttpShutdown, an_idle_server_ends_at_once) {
  TestServer server;
  HttpClient idle(server.port());
  EXPECT_EQ(idle.get("/healthz").status, 200U);
  server->shutdown();
  server->wait_for_end();
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_THROW(HttpClient(server.port()).get("/healthz"), std::runtime_error);
}

TEST(HttpShutdown, what_is_in_flight_is_answered_first) {
  TestServer server;
  server.executor.allow_only(1);
  HttpClient whole(server.port());
  whole.send(HttpClient::text("/v1/completions", completion("whole", 5)));
  HttpClient streaming(server.port());
  streaming.send(HttpClient::text("/v1/completions", stream("stream", 5)));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
  server->shutdown();
  server.executor.release();
  EXPECT_EQ(whole.read().json()["choices"][0]["text"], expected_text("whole", 5));
  streaming.read_header();
  EXPECT_EQ(streaming.read_events().size(), 6U);
  EXPECT_TRUE(streaming.closed_by_server());
  whole.close();
  streaming.close();
  server->wait_for_end();
  server.loop().drain();
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpShutdown, a_request_that_was_still_arriving_is_503) {
  TestServer server;
  HttpClient client(server.port());
  const std::string request = HttpClient::text("/v1/completions", completion("x", 5));
  client.send(request.substr(0, 20));
  // Answered after the first part of the request above has been read.
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
  server->shutdown();
  client.send(request.substr(20));
  const auto response = client.read();
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.json()["error"]["code"], "shutting_down");
  EXPECT_EQ(response.header("Connection"), "close");
  client.close();
  server->wait_for_end();
}

TEST(HttpShutdown, the_health_of_a_server_that_ends_is_503) {
  for (const char* path : {"/health", "/healthz"}) {
    TestServer server;
    HttpClient probe(server.port());
    const std::string request = HttpClient::text("GET", path, "");
    probe.send(request.substr(0, 10));
    EXPECT_EQ(HttpClient(server.port()).get(path).json()["status"], "ok");
    server->shutdown();
    probe.send(request.substr(10));
    const auto response = probe.read();
    EXPECT_EQ(response.status, 503U);
    EXPECT_EQ(response.json()["status"], "shutting_down");
    probe.close();
    server->wait_for_end();
  }
}

TEST(HttpShutdown, probes_and_metrics_are_answered_while_it_drains_and_new_work_is_503) {
  TestServer server;
  server.executor.allow_only(1);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("whole", 5)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  server->shutdown();
  // Each on a connection of its own, which ends with the answer.
  const auto get = [&server](const char* path) { return HttpClient(server.port()).get(path); };
  while (get("/health/ready").status != 503U) std::this_thread::yield();
  EXPECT_EQ(get("/health/ready").body, R"({"status":"shutting_down"})");
  EXPECT_EQ(get("/health/live").status, 200U);
  EXPECT_EQ(get("/metrics").status, 200U);
  EXPECT_EQ(get("/health/live").header("Connection"), "close");
  const auto refused = HttpClient(server.port()).post("/v1/completions", completion("new", 5));
  EXPECT_EQ(refused.status, 503U);
  EXPECT_EQ(refused.json()["error"]["code"], "shutting_down");
  EXPECT_EQ(refused.header("Retry-After"), "1");
  HttpClient silent(server.port());  // nobody waits for it
  server.executor.release();
  EXPECT_EQ(client.read().json()["choices"][0]["text"], expected_text("whole", 5));
  client.close();
  server->wait_for_end();
  EXPECT_TRUE(silent.closed_by_server());
}

TEST(HttpShutdown, a_target_that_hangs_is_not_waited_for) {
  TestServer server({.http = {.linger_timeout = std::chrono::milliseconds(50),
                              .shutdown_timeout = std::chrono::milliseconds(1)}});
  server.executor.allow_only(1);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("whole", 5)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  server->shutdown();
  server->wait_for_end();
  EXPECT_TRUE(client.closed_by_server());
}

/// What a client was told: the text of an answer, "refused", or nothing of either: "".
std::string outcome(HttpClient& client, bool streams) {
  if (!streams) {
    const auto response = client.read();
    if (response.status == 503U) return "refused";
    return response.body.empty() ? "" : response.json()["choices"][0]["text"];
  }
  if (client.read_header().status == 503U) return "refused";
  std::string text;
  for (const std::string& event : client.read_events()) {
    if (event != "[DONE]") text += nlohmann::json::parse(event)["choices"][0]["text"];
  }
  return text;
}

TEST(HttpShutdown, whenever_it_comes_what_has_arrived_is_answered_whole_or_refused) {
  constexpr std::uint32_t kClients = 6;
  const int rounds = proof_seed() ? 125 : 40;
  std::mt19937 random(static_cast<std::uint32_t>(proof_seed().value_or(20261128)));
  const auto below = [&random](std::uint32_t end) { return random() % end; };
  for (int round = 0; round < rounds; ++round) {
    TestServer server({.scheduler = {.batch = {.max_batch_size = 2}}});
    server.executor.allow_only(below(12));
    const std::uint32_t before = 1 + below(kClients);  // requests before it shuts down
    std::vector<std::unique_ptr<HttpClient>> clients;
    std::vector<bool> streams;
    for (std::uint32_t i = 0; i < before; ++i) {
      streams.push_back(below(2) == 0);
      const std::string prompt(1 + i, 'p');
      clients.push_back(std::make_unique<HttpClient>(server.port()));
      clients.back()->send(HttpClient::text(
          "/v1/completions", streams.back() ? stream(prompt, 5) : completion(prompt, 5)));
    }
    for (std::uint32_t i = below(2000); i > 0; --i) std::this_thread::yield();
    server->shutdown();
    server.executor.release();
    for (std::uint32_t i = 0; i < before; ++i) {
      EXPECT_THAT(outcome(*clients[i], streams[i]),
                  ::testing::AnyOf("refused", expected_text(std::string(1 + i, 'p'), 5)))
          << "round " << round << ", request " << i;
    }
    clients.clear();
    server->wait_for_end();
  }
  std::cout << "[  CASES   ] " << rounds << '\n';
}

TEST(HttpShutdown, what_is_not_done_in_time_ends_with_the_text_so_far) {
  TestServer server({.http = {.shutdown_timeout = std::chrono::milliseconds(1)}});
  server.executor.slow_down(std::chrono::milliseconds(1));
  HttpClient whole(server.port());
  whole.send(HttpClient::text("/v1/completions", completion("whole", 8000)));
  HttpClient streaming(server.port());
  streaming.send(HttpClient::text("/v1/completions", stream("stream", 8000)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 2; }));
  server->shutdown();
  const auto choice = whole.read().json()["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "deadline");
  EXPECT_THAT(expected_text("whole", 8000), ::testing::StartsWith(choice["text"]));
  streaming.read_header();
  const auto events = streaming.read_events();
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_THAT(events[events.size() - 2], HasSubstr("\"deadline\""));
  server->wait_for_end();
}

TEST(HttpShutdown, a_client_that_does_not_take_its_answer_is_left_behind) {
  TestServer server({.scheduler = {.cache = {.num_blocks = 4096, .block_size = 16}},
                     .http = {.linger_timeout = std::chrono::milliseconds(100),
                              .stream_backlog_tokens = 1'000'000,
                              .shutdown_timeout = std::chrono::milliseconds(1)},
                     .model_id = std::string(2000, 'm')});
  HttpClient lazy(server.port(), 4096);
  nlohmann::json body = stream("lazy", 60'000);
  body["model"] = std::string(2000, 'm');
  lazy.send(HttpClient::text("/v1/completions", body));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) {
    return s.generated_tokens > 10'000;  // 20 MB of events: no buffer of the system holds them
  }));
  server->shutdown();
  server->wait_for_end();
}

TEST(HttpShutdown, a_loop_that_drains_refuses_with_503) {
  TestServer server;
  server.loop().drain();
  HttpClient client(server.port());
  const auto response = client.post("/v1/completions", completion("x", 5));
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.json()["error"]["code"], "shutting_down");
}

TEST(HttpListen, an_address_in_use_is_an_error_that_names_it) {
  TestServer server;
  boost::asio::io_context io;
  serve::HttpServer second(io, {});
  const auto listening = second.listen({.host = "127.0.0.1", .port = server.port()});
  ASSERT_FALSE(listening);
  EXPECT_THAT(listening.error(), HasSubstr("127.0.0.1:" + std::to_string(server.port())));
  EXPECT_THAT(listening.error(), HasSubstr("ddress already in use"));
}

TEST(HttpListen, a_host_that_is_not_ours_is_an_error) {
  TestServer server;
  boost::asio::io_context io;
  serve::HttpServer second(io, {});
  EXPECT_FALSE(second.listen({.host = "192.0.2.1", .port = 0}));
  EXPECT_THAT(second.listen({.host = "no.such.host.invalid", .port = 0}).error(),
              HasSubstr("cannot listen on no.such.host.invalid:0"));
}

}  // namespace
}  // namespace forge::test
