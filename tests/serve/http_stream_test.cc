// Server-Sent Events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

TEST(HttpStream, one_chunk_a_token_then_done) {
  TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("Hello", 4)));
  const auto header = client.read_header();
  EXPECT_EQ(header.status, 200U);
  EXPECT_EQ(header.header("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(header.header("Cache-Control"), "no-cache");
  const auto events = client.read_events();
  ASSERT_EQ(events.size(), 5U);
  std::string text;
  for (std::size_t i = 0; i < 4; ++i) {
    const json chunk = json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "text_completion");
    EXPECT_EQ(chunk["id"], json::parse(events[0])["id"]);
    EXPECT_FALSE(chunk.contains("usage"));
    EXPECT_EQ(chunk["choices"][0]["finish_reason"], i == 3 ? json("length") : json(nullptr));
    text += chunk["choices"][0]["text"];
  }
  EXPECT_EQ(text, expected_text("Hello", 4));
  EXPECT_EQ(events[4], "[DONE]");
  EXPECT_EQ(client.get("/healthz").status, 200U) << "the connection goes on";
}

TEST(HttpStream, tokens_arrive_as_they_are_generated) {
  TestServer server;
  server.executor.allow_only(1);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("x", 3)));
  client.read_header();
  EXPECT_TRUE(client.next_event().has_value()) << "before the second token exists";
  server.executor.allow_only(1);
  EXPECT_TRUE(client.next_event().has_value());
  server.executor.release();
  EXPECT_EQ(client.read_events().size(), 2U);
}

TEST(HttpStream, usage_comes_last_when_asked_for) {
  TestServer server;
  HttpClient client(server.port());
  json body = stream("Hello", 2);
  body["stream_options"] = {{"include_usage", true}};
  client.send(HttpClient::text("/v1/completions", body));
  client.read_header();
  const auto events = client.read_events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(json::parse(events[0])["usage"], nullptr);
  EXPECT_TRUE(json::parse(events[0]).contains("usage"));
  const json usage = json::parse(events[2]);
  EXPECT_EQ(usage["choices"], json::array());
  EXPECT_EQ(usage["usage"], json({{"prompt_tokens", 5},
                                  {"completion_tokens", 2},
                                  {"total_tokens", 7},
                                  {"prompt_tokens_details", {{"cached_tokens", 0}}}}));
  EXPECT_EQ(events[3], "[DONE]");
}

TEST(HttpStream, usage_is_in_each_event_when_asked_for) {
  TestServer server;
  HttpClient client(server.port());
  for (const bool at_the_end : {false, true}) {
    json body = stream("Hello", 2);
    body["stream_options"] = {{"include_usage", at_the_end}, {"continuous_usage_stats", true}};
    client.send(HttpClient::text("/v1/completions", body));
    client.read_header();
    const auto events = client.read_events();
    ASSERT_EQ(events.size(), at_the_end ? 4U : 3U);
    EXPECT_EQ(json::parse(events[0])["usage"]["completion_tokens"], 1);
    EXPECT_EQ(json::parse(events[1])["usage"]["completion_tokens"], 2);
  }
}

TEST(HttpStream, half_a_character_is_an_empty_chunk) {
  TestServer server({.next_token = [](const Request&, std::uint32_t position) {
    return text::ByteTokenizer::token_of(position % 2 == 0 ? 0xC3 : 0xA9);
  }});
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("x", 4)));
  client.read_header();
  std::vector<std::string> texts;
  while (auto event = client.next_event()) {
    if (*event != "[DONE]") texts.push_back(json::parse(*event)["choices"][0]["text"]);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"", "\u00e9", "", "\u00e9"}));
}

TEST(HttpStream, the_start_of_a_stop_string_is_never_shown) {
  TestServer server({.next_token = [](const Request&, std::uint32_t position) {
    return text::ByteTokenizer::token_of(static_cast<unsigned char>('a' + position));
  }});
  HttpClient client(server.port());
  json body = stream("x", 20);
  body["stop"] = "cde";
  client.send(HttpClient::text("/v1/completions", body));
  client.read_header();
  const auto events = client.read_events();
  ASSERT_EQ(events.size(), 6U) << "tokens a, b, c, d, e and [DONE]";
  std::string text;
  for (std::size_t i = 0; i < 5; ++i) text += json::parse(events[i])["choices"][0]["text"];
  EXPECT_EQ(text, "ab");
  EXPECT_EQ(json::parse(events[4])["choices"][0]["finish_reason"], "stop");
}

TEST(HttpStream, several_prompts_are_told_apart_by_their_index) {
  TestServer server;
  HttpClient client(server.port());
  json body = stream("", 5);
  body["prompt"] = {"one", "two"};
  client.send(HttpClient::text("/v1/completions", body));
  client.read_header();
  std::vector<std::string> texts(2);
  int finished = 0;
  while (auto event = client.next_event()) {
    if (*event == "[DONE]") continue;
    const json choice = json::parse(*event)["choices"][0];
    texts.at(choice["index"]) += choice["text"];
    finished += choice["finish_reason"] == "length" ? 1 : 0;
  }
  EXPECT_EQ(texts, (std::vector<std::string>{expected_text("one", 5), expected_text("two", 5)}));
  EXPECT_EQ(finished, 2);
}

TEST(HttpStream, a_model_that_fails_before_the_first_token_is_a_500) {
  TestServer server;
  server.executor.fail(true);
  HttpClient client(server.port());
  EXPECT_EQ(client.post("/v1/completions", stream("x", 4)).status, 500U);
  EXPECT_EQ(client.get("/healthz").status, 200U);
}

TEST(HttpStream, a_model_that_fails_later_ends_the_stream_with_an_error_event) {
  TestServer server;
  server.executor.allow_only(2);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("x", 9)));
  client.read_header();
  client.next_event();
  client.next_event();
  server.executor.fail(true);
  server.executor.release();
  const auto events = client.read_events();
  ASSERT_EQ(events.size(), 1U) << "no [DONE]: it is not done";
  EXPECT_EQ(json::parse(events[0])["error"]["type"], "server_error");
  EXPECT_EQ(client.get("/healthz").status, 200U);
}

}  // namespace
}  // namespace forge::test
