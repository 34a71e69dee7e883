// What belongs to a key: sessions and cached prefixes. And cache_salt, with keys and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

const serve::NewKey& alice() {
  static const serve::NewKey key = serve::make_key("alice:client").value();
  return key;
}
const serve::NewKey& bob() {
  static const serve::NewKey key = serve::make_key("bob:client").value();
  return key;
}
const serve::NewKey& watch() {
  static const serve::NewKey key = serve::make_key("watch:operator").value();
  return key;
}

/// Who asks; no key where it is empty.
HttpClient::Response ask(const TestServer& server, const std::string& key, std::string_view method,
                         std::string_view path, const std::string& body = "") {
  HttpClient client(server.port());
  const auto headers =
      key.empty() ? HttpClient::Headers{} : HttpClient::Headers{{"Authorization", "Bearer " + key}};
  client.send(HttpClient::text(method, path, body, headers));
  return client.read();
}

TestServerOptions with_keys() {
  return {
      .keys =
          serve::ApiKeys::parse(alice().line + "\n" + bob().line + "\n" + watch().line).value()};
}

/// The tokens of one prompt of 40 that were found.
std::uint32_t cached(const TestServer& server, const std::string& key, const json& more = {}) {
  json body = completion(std::string(40, 'a'), 1);
  if (more.is_object()) body.update(more);
  const auto answer = ask(server, key, "POST", "/v1/completions", body.dump());
  EXPECT_EQ(answer.status, 200U);
  return answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"];
}

json of_salt(const char* salt) { return {{"cache_salt", salt}}; }

TEST(HttpOwnership, a_prompt_is_found_by_the_key_that_asked_it_alone) {
  const TestServer server(with_keys());
  EXPECT_EQ(cached(server, alice().key), 0U);
  EXPECT_EQ(cached(server, bob().key), 0U);
  EXPECT_EQ(cached(server, watch().key), 0U) << "an operator is a client, too";
  EXPECT_EQ(cached(server, alice().key), 32U);
  EXPECT_EQ(cached(server, bob().key), 32U);
}

TEST(HttpOwnership, a_salt_parts_what_one_key_asks_and_shares_nothing_between_two) {
  const TestServer server(with_keys());
  EXPECT_EQ(cached(server, alice().key), 0U);
  EXPECT_EQ(cached(server, alice().key, of_salt("x")), 0U);
  EXPECT_EQ(cached(server, alice().key, of_salt("y")), 0U);
  EXPECT_EQ(cached(server, bob().key, of_salt("x")), 0U);
  EXPECT_EQ(cached(server, alice().key, of_salt("x")), 32U);
}

TEST(HttpOwnership, without_keys_all_share_but_those_with_a_salt) {
  const TestServer server;
  EXPECT_EQ(cached(server, ""), 0U);
  EXPECT_EQ(cached(server, ""), 32U);
  EXPECT_EQ(cached(server, "", {{"cache_salt", nullptr}}), 32U);
  EXPECT_EQ(cached(server, "", of_salt("x")), 0U);
  EXPECT_EQ(cached(server, "", of_salt("x")), 32U);
  EXPECT_EQ(cached(server, "", of_salt("y")), 0U);
}

TEST(HttpOwnership, a_session_of_another_key_is_none) {
  const TestServer server(with_keys());
  const std::string path = "/forge/v1/sessions/7";
  EXPECT_EQ(cached(server, alice().key, {{"session", 7}}), 0U);
  const auto of_bob = ask(server, bob().key, "DELETE", path);
  EXPECT_EQ(of_bob.status, 404U);
  EXPECT_THAT(of_bob.json()["error"]["message"].get<std::string>(),
              ::testing::HasSubstr("there is no session 7"));
  EXPECT_EQ(ask(server, watch().key, "DELETE", path).status, 404U);
  const auto of_alice = ask(server, alice().key, "DELETE", path);
  EXPECT_EQ(of_alice.status, 200U);
  EXPECT_EQ(of_alice.json()["id"], 7) << "the number that she gave it";
}

TEST(HttpOwnership, two_keys_have_conversations_of_one_number) {
  const TestServer server(with_keys());
  const auto turn = [&](const std::string& key, const std::string& text) {
    const json body = {{"model", "fake"},
                       {"messages", {{{"role", "user"}, {"content", text}}}},
                       {"session", 7},
                       {"max_tokens", 2}};
    const auto answer = ask(server, key, "POST", "/v1/chat/completions", body.dump());
    EXPECT_EQ(answer.status, 200U) << answer.body;
    return answer.json()["forge"]["session_messages"];
  };
  EXPECT_EQ(turn(alice().key, "a"), 0);
  EXPECT_EQ(turn(alice().key, "b"), 2);
  EXPECT_EQ(turn(bob().key, "c"), 0);
  EXPECT_EQ(turn(alice().key, "d"), 4);
}

}  // namespace
}  // namespace forge::test
