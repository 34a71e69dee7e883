// No memory is left while a request comes in, at each allocation that the server's thread makes for
// it in turn: that costs the request at most, and the next one is answered as ever.
//
// The failing operator new replaces the program's, so this test is a program of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "serve/failing_allocation.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

constexpr serve::ClientLimits kAmple{
    .concurrent = 1'000'000, .waiting = 1'000'000, .tokens_per_minute = 1'000'000'000};

class HttpAllocation : public ::testing::TestWithParam<std::string> {
 protected:
  HttpAllocation()
      : server_(
            {.http = {.client_limits = kAmple,
                      .on_connection_error = [this](std::string_view) { ++errors_; },
                      .on_request = [](const serve::RequestRecord&) { watch_this_thread(); }}}) {
    answer_of(completion("first", 3));  // whose record says which thread is to be watched
  }

  /// As it stands on the wire; empty if the connection was closed, or reset, without one.
  std::string answer_of(const json& body) {
    const auto begun = std::chrono::steady_clock::now();
    try {
      HttpClient client(server_.port());
      client.send(HttpClient::text("POST", GetParam(), body.dump(), {{"Connection", "close"}}));
      return client.read_to_end();
    } catch (const std::exception& failure) {
      EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50))
          << "the server has forgotten a client: " << failure.what();
      return "";
    }
  }

  json body() const {
    json body = {{"model", "fake"}, {"max_tokens", 5}, {"user", "somebody"}};
    if (GetParam() == "/v1/chat/completions") {
      body["messages"] = json::array({{{"role", "user"}, {"content", "hi"}}});
      body["stream"] = true;
    } else {
      body["prompt"] = std::string(600, 'p');
    }
    return body;
  }

  TestServer server_;
  std::atomic<int> errors_ = 0;
};

TEST_P(HttpAllocation, that_fails_costs_a_request_at_most) {
  const std::string right = answer_of(body());
  ASSERT_NE(right.find("200 OK"), std::string::npos) << right;
  std::uint64_t allocation = 0;
  int answered = 0;
  do {
    fail_allocation(++allocation);
    answered += answer_of(body()).find("200 OK") != std::string::npos ? 1 : 0;
  } while (has_failed());
  fail_allocation(0);
  EXPECT_GT(allocation, 15U);
  EXPECT_NE(answer_of(body()).find("200 OK"), std::string::npos);
  EXPECT_TRUE(server_->eventually_idle());
  const std::string left = answer_of(json::object());
  EXPECT_NE(left.find("x-ratelimit-remaining-requests: 1000000"), std::string::npos) << left;
  std::cout << allocation - 1 << " allocations, " << answered << " answers, " << errors_
            << " connections ended\n";
}

INSTANTIATE_TEST_SUITE_P(Routes, HttpAllocation,
                         ::testing::Values("/v1/completions", "/v1/chat/completions"),
                         [](const auto& route) {
                           return std::string(route.param == "/v1/completions" ? "completion"
                                                                               : "chat");
                         });

}  // namespace
}  // namespace forge::test
