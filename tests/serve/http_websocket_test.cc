// WS /forge/v1/stream: requests and answers as messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "serve/metrics_text.h"
#include "serve/test_server.h"
#include "serve/websocket_client.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kCompletionsRoute = "/v1/completions";
constexpr const char* kChatRoute = "/v1/chat/completions";

/// As the wire has it, but for what each answer has of its own: its id and its time.
std::string without_its_name(const std::string& text) {
  auto chunk = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(chunk.dump(), text) << "nothing but the two is changed";
  chunk["id"] = "";
  chunk["created"] = 0;
  return chunk.dump();
}

/// By choice, in their order: those of several choices mix as their tokens come.
using Texts = std::map<std::size_t, std::vector<std::string>>;

void add_chunk(Texts& texts, const std::string& chunk) {
  const json parsed = json::parse(chunk);
  const bool of_all = !parsed.contains("choices") || parsed["choices"].empty();
  const std::size_t choice = of_all ? 0 : parsed["choices"][0]["index"].get<std::size_t>();
  texts[choice].push_back(without_its_name(chunk));
}

struct Question {
  std::string id;
  std::string route;
  json body;
};

Texts events_of(const ServerPlace& place, const Question& question) {
  HttpClient client(place);
  client.send(HttpClient::text(question.route, question.body));
  EXPECT_EQ(client.read_header().status, 200U);
  auto events = client.read_events();
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  Texts texts;
  for (const std::string& event : events) add_chunk(texts, event);
  return texts;
}

/// Asks all at once on one connection.
std::map<std::string, Texts> messages_of(const ServerPlace& place,
                                         const std::vector<Question>& questions) {
  WebSocketClient client(place);
  for (const Question& each : questions) client.ask(each.id, each.route, each.body);
  std::map<std::string, Texts> texts;
  for (std::size_t left = questions.size(); left > 0;) {
    const std::string text = client.next_text().value_or("{}");
    const json message = json::parse(text);
    const std::string id = message.value("id", "");
    if (!message.contains("chunk")) {
      EXPECT_EQ(text, R"({"id":")" + id + R"(","done":true})");
      --left;
      continue;
    }
    const std::string head = R"({"id":")" + id + R"(","chunk":)";
    EXPECT_TRUE(text.starts_with(head));
    add_chunk(texts[id], text.substr(head.size(), text.size() - head.size() - 1));
  }
  return texts;
}

void expect_same(const ServerPlace& place, const std::vector<Question>& questions) {
  const auto messages = messages_of(place, questions);
  for (const Question& each : questions) {
    EXPECT_EQ(messages.at(each.id), events_of(place, each)) << each.id << ": " << each.body;
  }
}

json streamed_body(const json& patch) {
  json body = {{"model", "fake"},
               {"stream", true},
               {"max_tokens", 24},
               {"temperature", 0},
               {"prefix_cache", "disable"}};
  body.update(patch);
  return body;
}

std::vector<Question> questions() {
  const json messages = {{{"role", "user"}, {"content", "hi"}}};
  return {
      {"plain", kCompletionsRoute, streamed_body({{"prompt", "Hello"}})},
      {"ids", kCompletionsRoute, streamed_body({{"prompt", {72, 101}}})},
      {"stop", kCompletionsRoute, streamed_body({{"prompt", "x"}, {"stop", {"nd\u20ac", "zz"}}})},
      {"one", kCompletionsRoute, streamed_body({{"prompt", "x"}, {"max_tokens", 1}})},
      {"usage", kCompletionsRoute,
       streamed_body(
           {{"prompt", "u"},
            {"stream_options", {{"include_usage", true}, {"continuous_usage_stats", true}}}})},
      {"two", kCompletionsRoute,
       streamed_body({{"prompt", {"a", "b"}}, {"n", 2}, {"temperature", 1}, {"seed", 7}})},
      {"chat", kChatRoute, streamed_body({{"messages", messages}})},
      {"chat_stop", kChatRoute, streamed_body({{"messages", messages}, {"stop", "nd"}})},
  };
}

TEST(HttpWebSocket, says_what_events_say_whatever_the_batch_and_the_split) {
  // Characters of two and three bytes, a stop text with one, bytes that are no character.
  const NextToken next = says("h\xc3\xa9llo \xe2\x82\xac and\xe2\x82\xac, \xff\xf0\x9f the end");
  for (const std::uint32_t drafts : {0U, 3U}) {
    for (const std::uint32_t batch : {1U, 3U, 16U}) {
      SCOPED_TRACE("drafts " + std::to_string(drafts) + ", batch " + std::to_string(batch));
      TestServer server({.scheduler = {.cache = {.num_blocks = 512, .block_size = 16},
                                       .batch = {.max_batch_size = batch}},
                         .next_token = next});
      server.executor.drafts = drafts;
      expect_same(server.place(), questions());
    }
  }
}

TEST(HttpWebSocket, says_what_events_say_of_a_model_that_tells_of_its_tokens) {
  cpu::CpuExecutor executor({.drafts = 3}, cpu::seeded_cpu_model({}, {.drafts = 3}));
  const RunningServer server(
      executor, {.fingerprint = receipt::Fingerprint{.weights = "test", .numerics = "canonical"}});
  auto all = questions();
  all.push_back({"told", kCompletionsRoute, streamed_body({{"prompt", "x"}, {"logprobs", 2}})});
  json generate = streamed_body({{"prompt", "x"}, {"temperature", 0.7}, {"seed", 3}});
  all.push_back({"generate", "/forge/v1/generate", generate});
  expect_same(server.place(), all);
}

TEST(HttpWebSocket, a_body_without_stream_has_one_answer) {
  const TestServer server;
  WebSocketClient client(server.place());
  client.ask("a", kCompletionsRoute, completion("Hello", 5));
  json message = client.next();
  EXPECT_EQ(message["answer"]["choices"][0]["text"], expected_text("Hello", 5));
  HttpClient http(server.place());
  const std::string whole = http.post(kCompletionsRoute, completion("Hello", 5)).body;
  EXPECT_EQ(without_its_name(nlohmann::ordered_json::parse(whole).dump()), without_its_name(whole));
  client.ask("a", "/generate", {{"prompt", "Hello"}, {"max_tokens", 5}});
  EXPECT_EQ(client.next(), json({{"id", "a"},
                                 {"answer",
                                  {{"text", expected_text("Hello", 5)},
                                   {"prompt_tokens", 5},
                                   {"completion_tokens", 5}}}}));
}

TEST(HttpWebSocket, tokens_come_as_they_are_generated_and_requests_end_in_any_order) {
  TestServer server;
  server.executor.allow_only(1);
  WebSocketClient client(server.place());
  client.ask("long", kCompletionsRoute, stream("x", 3));
  EXPECT_TRUE(client.next().contains("chunk")) << "before the second token exists";
  client.ask("short", kCompletionsRoute, completion("y", 1));
  server.executor.allow_only(1);
  std::vector<std::string> ends;
  server.executor.release();
  while (ends.size() < 2) {
    const json message = client.next();
    if (!message.contains("chunk")) ends.push_back(message["id"]);
  }
  EXPECT_THAT(ends, ::testing::UnorderedElementsAre("long", "short"));
}

TEST(HttpWebSocket, a_request_that_is_cancelled_ends_and_no_other) {
  TestServer server;
  server.executor.allow_only(0);
  WebSocketClient client(server.place());
  client.ask("a", kCompletionsRoute, stream("a", 2000));
  client.ask("b", kCompletionsRoute, completion("b", 5));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
  client.cancel("nobody");
  client.cancel("a");
  EXPECT_EQ(client.next(), json({{"id", "a"}, {"cancelled", true}}));
  client.cancel("a");
  client.ask("a", kCompletionsRoute, completion("again", 2));
  server.executor.release();
  std::map<std::string, std::string> texts;
  for (int i = 0; i < 2; ++i) {
    const json message = client.next();
    texts[message["id"]] = message["answer"]["choices"][0]["text"];
  }
  EXPECT_EQ(texts, (std::map<std::string, std::string>{{"a", expected_text("again", 2)},
                                                       {"b", expected_text("b", 5)}}));
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 2000U);
}

TEST(HttpWebSocket, a_request_is_cancelled_while_it_streams) {
  TestServer server;
  server.executor.allow_only(3);
  WebSocketClient client(server.place());
  client.ask("a", kCompletionsRoute, stream("a", 2000));
  EXPECT_TRUE(client.next().contains("chunk"));
  client.cancel("a");
  json message = client.next();
  while (message.contains("chunk")) message = client.next();
  EXPECT_EQ(message, json({{"id", "a"}, {"cancelled", true}}));
  server.executor.release();
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpWebSocket, what_is_no_request_is_an_error_and_the_next_one_is_served) {
  const TestServer server;
  WebSocketClient client(server.place());
  const auto error_of = [&client](std::string_view text) {
    client.say_text(text);
    return client.next();
  };
  const auto request = [](const json& patch) {
    json message = {{"id", "a"}, {"route", kCompletionsRoute}, {"body", completion("x", 1)}};
    message.update(patch);
    return message.dump();
  };
  for (const char* text :
       {"", "nonsense", "[1]", "{", "{}", R"({"cancel": 7})", R"({"id": "a"})"}) {
    const json message = error_of(text);
    EXPECT_EQ(message["status"], 400) << text;
    EXPECT_EQ(message["error"]["type"], "invalid_request_error") << text;
  }
  EXPECT_EQ(error_of("nonsense")["id"], nullptr);
  EXPECT_THAT(error_of(request({{"route", "/v1/models"}}))["error"]["message"].get<std::string>(),
              HasSubstr("'/v1/completions', '/v1/chat/completions', '/forge/v1/generate'"));
  EXPECT_EQ(error_of(request({{"route", "/v1/models"}}))["id"], "a");
  EXPECT_EQ(error_of(request({{"body", "text"}}))["error"]["param"], "body");
  EXPECT_EQ(error_of(request({{"id", std::string(129, 'a')}}))["error"]["param"], "id");
  EXPECT_EQ(error_of(request({{"id", "a b"}}))["id"], nullptr);
  EXPECT_EQ(error_of(request({{"extra", 1}}))["error"]["code"], "unknown_parameter");
  const json refused = error_of(request({{"body", {{"prompt", 1}, {"model", "gpt"}}}}));
  EXPECT_EQ(refused["id"], "a");
  EXPECT_TRUE(refused.contains("error"));
  EXPECT_EQ(error_of(request({{"route", "/forge/v1/generate"}}))["status"], 501);
  const std::string long_id(128, '"');
  EXPECT_EQ(error_of(request({{"id", long_id}}))["id"], long_id);
  EXPECT_TRUE(error_of(request(json::object())).contains("answer"));
}

TEST(HttpWebSocket, an_id_is_of_one_request_at_a_time) {
  TestServer server;
  server.executor.allow_only(0);
  WebSocketClient client(server.place());
  client.ask("a", kCompletionsRoute, completion("x", 3));
  client.ask("a", kCompletionsRoute, completion("y", 3));
  const json message = client.next();
  EXPECT_EQ(message["id"], nullptr);
  EXPECT_EQ(message["status"], 409);
  EXPECT_EQ(message["error"]["code"], "repeated_id");
  client.say({{"id", "a"}, {"route", "/nowhere"}});
  EXPECT_EQ(client.next()["id"], nullptr) << "it is not about the one that runs";
  server.executor.release();
  EXPECT_EQ(client.next()["answer"]["choices"][0]["text"], expected_text("x", 3));
  client.ask("a", kCompletionsRoute, completion("y", 3));
  EXPECT_EQ(client.next()["answer"]["choices"][0]["text"], expected_text("y", 3));
}

/// While one request runs, what a POST of `body` is answered, and a message with it: their status.
unsigned refusal_of(const TestServerOptions& options, const json& body) {
  TestServer server(options);
  server.executor.allow_only(0);
  WebSocketClient client(server.place());
  client.ask("runs", kCompletionsRoute, completion("x", 3));
  EXPECT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  HttpClient http(server.place());
  const auto reply = http.post(kCompletionsRoute, body);
  client.ask("b", kCompletionsRoute, body);
  const json message = client.next();
  EXPECT_EQ(message["id"], "b");
  EXPECT_EQ(message["status"], reply.status);
  EXPECT_EQ(message["error"], reply.json()["error"]);
  const std::string retry = reply.header("Retry-After");
  EXPECT_EQ(message.value("retry_after", 0), retry.empty() ? 0 : std::stoi(retry));
  server.executor.release();
  EXPECT_TRUE(client.next().contains("answer"));
  return reply.status;
}

TEST(HttpWebSocket, refusals_are_those_of_a_post) {
  const TestServerOptions full{.scheduler = {.batch = {.max_batch_size = 1}}, .queue_limit = 1};
  const TestServerOptions limited{.http = {.client_limits = {.concurrent = 2}}};
  json several = completion("x", 3);
  EXPECT_EQ(refusal_of(full, several), 503U) << "the queue is full";
  several["n"] = 2;
  EXPECT_EQ(refusal_of(limited, several), 429U);
  several["n"] = 3;
  EXPECT_EQ(refusal_of(limited, several), 400U);
  several["top_p"] = 7;
  EXPECT_EQ(refusal_of({}, several), 400U);
}

TEST(HttpWebSocket, a_failing_model_is_an_error_of_the_request_and_the_connection_goes_on) {
  TestServer server;
  server.executor.fail(true);
  WebSocketClient client(server.place());
  for (const json& body : {completion("x", 4), stream("x", 4)}) {
    client.ask("a", kCompletionsRoute, body);
    const json message = client.next();
    EXPECT_EQ(message["status"], 500);
    EXPECT_EQ(message["error"]["code"], "execution_failed");
  }
  server.executor.fail(false);
  client.ask("a", kCompletionsRoute, completion("x", 4));
  EXPECT_TRUE(client.next().contains("answer"));
}

TEST(HttpWebSocket, counts_and_records_each_request_as_one) {
  std::mutex mutex;
  std::vector<serve::RequestRecord> records;
  {
    TestServer server({.http = {.on_request = [&](const serve::RequestRecord& record) {
                         const std::lock_guard lock(mutex);
                         records.push_back(record);
                       }}});
    WebSocketClient client(server.place());
    client.ask("first", kCompletionsRoute, completion("x", 5));
    EXPECT_TRUE(client.next().contains("answer"));
    client.ask("second", kChatRoute, {{"messages", 1}});
    EXPECT_EQ(client.next()["status"], 400);
    const MetricsText metrics = scrape(server);
    const auto counted = [&metrics](const char* handler, const char* method, const char* status) {
      return metrics.value("http_requests_total",
                           {{"handler", handler}, {"method", method}, {"status", status}});
    };
    EXPECT_EQ(counted(kCompletionsRoute, "WS", "2xx"), 1);
    EXPECT_EQ(counted(kChatRoute, "WS", "4xx"), 1);
    EXPECT_EQ(counted("/forge/v1/stream", "GET", "1xx"), 1);
    EXPECT_EQ(metrics.value("vllm:request_params_n_count"), 1);
    client.close();
  }
  const std::lock_guard lock(mutex);
  std::map<std::string, serve::RequestRecord> found;
  for (const auto& record : records) found[record.route] = record;
  const auto& first = found.at(kCompletionsRoute);
  EXPECT_EQ(first.method, "WS");
  EXPECT_EQ(first.request_id, "first");
  EXPECT_EQ(first.status, 200U);
  ASSERT_TRUE(first.tokens);
  EXPECT_EQ(first.tokens->completion, 5U);
  EXPECT_EQ(found.at(kChatRoute).status, 400U);
  EXPECT_EQ(found.at("/forge/v1/stream").status, 101U);
  EXPECT_EQ(found.at("/forge/v1/stream").method, "GET");
}

}  // namespace
}  // namespace forge::test
