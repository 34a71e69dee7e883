// Pages of other sites: what they may ask and read.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rate_limits.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

constexpr const char* kOurs = "https://app.example";
constexpr const char* kAnother = "https://another.example";

TestServerOptions with_cors(const std::string& origin = kOurs, bool has_keys = false) {
  TestServerOptions options;
  EXPECT_TRUE(options.http.cors_origins.add(origin));
  if (has_keys) {
    const serve::NewKey key = serve::make_key("alice:client").value();
    options.keys = serve::ApiKeys::parse(key.line).value();
  }
  return options;
}

HttpClient::Headers preflight_from(const std::string& origin) {
  return {{"Origin", origin}, {"Access-Control-Request-Method", "POST"}};
}

HttpClient::Response asked(const TestServer& server, std::string_view method, std::string_view path,
                           const HttpClient::Headers& headers) {
  HttpClient client(server.port());
  client.send(HttpClient::text(method, path, "", headers));
  return client.read();
}

std::string allowed_in(const HttpClient::Response& response) {
  return response.header("Access-Control-Allow-Origin");
}

TEST(HttpCors, a_preflight_from_an_allowed_origin_is_answered_without_a_key) {
  const TestServer server(with_cors(kOurs, true));
  for (const auto& [path, methods] :
       std::vector<std::pair<std::string, std::string>>{{"/v1/chat/completions", "POST"},
                                                        {"/v1/models", "GET, HEAD"},
                                                        {"/healthz", "GET, HEAD"},
                                                        {"/forge/v1/sessions/7", "DELETE"},
                                                        {"/forge/v1/cache/clear", "POST"}}) {
    const auto response = asked(server, "OPTIONS", path, preflight_from(kOurs));
    EXPECT_EQ(response.status, 204U) << path;
    EXPECT_EQ(allowed_in(response), kOurs) << path;
    EXPECT_EQ(response.header("Access-Control-Allow-Methods"), methods);
    EXPECT_EQ(response.header("Access-Control-Allow-Headers"),
              "Authorization, Content-Type, X-Request-Id");
    EXPECT_EQ(response.header("Access-Control-Max-Age"), "600");
    EXPECT_EQ(response.header("Vary"), "Origin");
    EXPECT_EQ(response.header("Content-Length"), "");
    EXPECT_EQ(response.header("Access-Control-Allow-Credentials"), "");
  }
}

TEST(HttpCors, a_preflight_of_anything_else_is_what_it_was) {
  const TestServer server(with_cors(kOurs, true));
  const TestServer off;
  EXPECT_EQ(asked(server, "OPTIONS", "/v1/models", preflight_from(kAnother)).status, 401U);
  EXPECT_EQ(asked(server, "OPTIONS", "/nowhere", preflight_from(kOurs)).status, 401U);
  EXPECT_EQ(asked(server, "OPTIONS", "/v1/models", {{"Origin", kOurs}}).status, 401U);
  EXPECT_EQ(asked(off, "OPTIONS", "/v1/models", preflight_from(kOurs)).status, 405U);
}

TEST(HttpCors, the_connection_of_a_preflight_goes_on_to_the_request) {
  const TestServer server(with_cors());
  HttpClient client(server.port());
  client.send(HttpClient::text("OPTIONS", "/v1/completions", "", preflight_from(kOurs)));
  EXPECT_EQ(client.read().status, 204U);
  client.send(
      HttpClient::text("POST", "/v1/completions", completion("x", 3).dump(), {{"Origin", kOurs}}));
  const auto response = client.read();
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(allowed_in(response), kOurs);
}

TEST(HttpCors, every_answer_to_an_allowed_origin_may_be_read) {
  const TestServer server(with_cors());
  const TestServer with_keys(with_cors(kOurs, true));
  HttpClient streaming(server.port());
  streaming.send(
      HttpClient::text("POST", "/v1/completions", stream("x", 3).dump(), {{"Origin", kOurs}}));
  const HttpClient::Headers from_ours = {{"Origin", kOurs}};
  for (const auto& response :
       {streaming.read_header(), asked(server, "GET", "/v1/models", from_ours),
        asked(server, "GET", "/nowhere", from_ours), asked(server, "PUT", "/v1/models", from_ours),
        asked(with_keys, "GET", "/v1/models", from_ours)}) {
    EXPECT_EQ(allowed_in(response), kOurs) << response.status;
    EXPECT_EQ(response.header("Vary"), "Origin");
    EXPECT_EQ(response.header("Access-Control-Expose-Headers"),
              "Retry-After, X-Request-Id, " + std::string(serve::kLimitHeaderNames));
    EXPECT_EQ(response.header("Access-Control-Allow-Credentials"), "");
  }
}

TEST(HttpCors, no_other_answer_says_anything_of_it) {
  const TestServer server(with_cors());
  const TestServer off;
  for (const auto& response : {asked(server, "GET", "/v1/models", {{"Origin", kAnother}}),
                               asked(server, "GET", "/v1/models", {}),
                               asked(off, "GET", "/v1/models", {{"Origin", kOurs}})}) {
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(allowed_in(response), "");
    EXPECT_EQ(response.header("Vary"), "");
    EXPECT_EQ(response.header("Access-Control-Expose-Headers"), "");
  }
}

TEST(HttpCors, any_origin_is_answered_as_any) {
  const TestServer server(with_cors("*"));
  EXPECT_EQ(allowed_in(asked(server, "GET", "/v1/models", {{"Origin", kAnother}})), "*");
  EXPECT_EQ(allowed_in(asked(server, "OPTIONS", "/v1/models", preflight_from("null"))), "*");
}

TEST(HttpCors, an_allowed_origin_is_no_operator_without_keys) {
  const TestServer server(with_cors());
  const auto preflight = asked(server, "OPTIONS", "/forge/v1/cache/clear", preflight_from(kOurs));
  EXPECT_EQ(preflight.status, 403U);
  EXPECT_EQ(allowed_in(preflight), "");
  const auto response = asked(server, "GET", "/forge/v1/cache/stats", {{"Origin", kOurs}});
  EXPECT_EQ(response.status, 403U);
  EXPECT_EQ(allowed_in(response), "");
}

}  // namespace
}  // namespace forge::test
