// POST /forge/v1/batch: lines of JSON in and out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using serve::ClientLimits;
using ::testing::HasSubstr;
using Headers = HttpClient::Headers;

constexpr const char* kPath = "/forge/v1/batch";

std::string line(const std::string& id, const json& body) {
  return json({{"custom_id", id}, {"body", body}}).dump() + "\n";
}

std::string many(int count, int max_tokens = 2) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += line("l" + std::to_string(i), completion("hi", max_tokens));
  return lines;
}

/// The header of a batch whose lines are sent later, as chunks.
std::string chunked_header(const Headers& more = {}) {
  Headers headers{{"Content-Type", "application/x-ndjson"}, {"Transfer-Encoding", "chunked"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return HttpClient::text("POST", kPath, "", headers);
}

std::string chunk(const std::string& text) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

const std::string kLastChunk = "0\r\n\r\n";

std::vector<json> lines_of(const std::string& body) {
  std::vector<json> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = body.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(json::parse(body.substr(begin, end - begin)));
  }
  EXPECT_EQ(begin, body.size()) << "the last line has an end, too";
  return lines;
}

std::map<std::string, json> by_id(const std::vector<json>& lines) {
  std::map<std::string, json> found;
  for (const json& line : lines) {
    EXPECT_TRUE(found.emplace(line["custom_id"].get<std::string>(), line).second) << line;
  }
  return found;
}

/// How many lines have which error; "" is none.
std::map<std::string, int> codes_of(const std::vector<json>& lines) {
  std::map<std::string, int> codes;
  for (const json& each : lines) {
    ++codes[each["error"].is_null() ? "" : each["error"]["code"].get<std::string>()];
  }
  return codes;
}

HttpClient::Response ask(const TestServer& server, const std::string& lines,
                         const Headers& headers = {}) {
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", kPath, lines, headers));
  return client.read();
}

/// Lines that are answered, and each with this status.
void expect_all(const HttpClient::Response& response, std::size_t count, int status) {
  EXPECT_EQ(response.status, 200U);
  const auto found = by_id(lines_of(response.body));
  EXPECT_EQ(found.size(), count);
  for (const auto& [id, line] : found) {
    EXPECT_EQ(line["response"]["status_code"], status) << line;
    EXPECT_EQ(line["error"], nullptr);
  }
}

TEST(HttpBatch, answers_each_line_as_a_request_of_its_own) {
  const TestServer server;
  const json chat = {
      {"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"max_tokens", 3}};
  const auto response = ask(server, line("a", completion("Hello", 7)) + line("b", chat));
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.header("Content-Type"), "application/x-ndjson");
  auto found = by_id(lines_of(response.body));
  ASSERT_EQ(found.size(), 2U);
  const json completed = found["a"]["response"];
  EXPECT_EQ(completed["status_code"], 200);
  EXPECT_FALSE(completed["request_id"].get<std::string>().empty());
  EXPECT_EQ(completed["body"]["choices"][0]["text"], expected_text("Hello", 7));
  EXPECT_EQ(completed["body"]["usage"]["completion_tokens"], 7);
  EXPECT_EQ(found["b"]["response"]["body"]["object"], "chat.completion");
}

TEST(HttpBatch, a_line_that_is_no_request_or_repeats_an_id_is_one_error) {
  const TestServer server;
  json bad = completion("x", 1);
  bad["top_p"] = 3;
  const auto lines = lines_of(
      ask(server, line("a", completion("x", 1)) + "nonsense\n\n" + line("a", completion("y", 1)) +
                      line("bad", bad) + line("s", stream("x", 1)) + line("z", completion("z", 1)))
          .body);
  ASSERT_EQ(lines.size(), 6U);
  std::map<std::string, int> seen;
  for (const json& each : lines) {
    const bool answered = each["error"].is_null();
    ++seen[answered ? std::to_string(each["response"]["status_code"].get<int>())
                    : each["error"]["code"].get<std::string>()];
    if (each["custom_id"].is_null()) {
      EXPECT_EQ(each["error"]["line"], 2);
    }
  }
  EXPECT_EQ(seen, (std::map<std::string, int>{
                      {"200", 2}, {"400", 2}, {"invalid_line", 1}, {"repeated_custom_id", 1}}));
}

TEST(HttpBatch, what_does_not_begin_with_a_request_is_refused_as_a_whole) {
  const TestServer server;
  EXPECT_EQ(ask(server, "[1,\n2]\n").status, 400U);
  EXPECT_EQ(ask(server, completion("x", 1).dump()).status, 400U);
  EXPECT_EQ(ask(server, "\n\n").status, 400U);
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", kPath, "", {{"Content-Length", "0"}}));
  EXPECT_THAT(client.read().body, HasSubstr("no lines"));
  EXPECT_EQ(ask(server, many(1), {{"Content-Type", "text/plain"}}).status, 415U);
  EXPECT_EQ(ask(server, many(1), {{"Content-Type", "application/jsonl"}}).status, 200U);
}

TEST(HttpBatch, has_limits_of_its_own) {
  const TestServer server({.http = {.body_limit_bytes = 200,
                                    .batch_body_limit_bytes = 2000,
                                    .batch_lines = 3,
                                    .linger_timeout = std::chrono::milliseconds(500)}});
  const std::string long_line = line("long", completion(std::string(300, 'x'), 1));
  const auto lines = lines_of(ask(server, many(1) + long_line + many(4)).body);
  ASSERT_EQ(lines.size(), 4U) << "no more are read than three and the one too many";
  const std::map<std::string, int> codes = codes_of(lines);
  EXPECT_EQ(codes,
            (std::map<std::string, int>{
                {"", 1}, {"line_too_long", 1}, {"repeated_custom_id", 1}, {"too_many_lines", 1}}));
  const auto refused = ask(server, std::string(2001, ' '));
  EXPECT_EQ(refused.status, 413U);
  EXPECT_THAT(refused.body, HasSubstr("2000 bytes"));
  HttpClient client(server.port());
  client.send(chunked_header() + chunk(many(1)) + chunk(std::string(2000, '\n')));
  EXPECT_EQ(codes_of(lines_of(client.read().body)),
            (std::map<std::string, int>{{"", 1}, {"body_too_large", 1}}));
}

TEST(HttpBatch, is_read_while_it_is_answered_and_the_connection_goes_on) {
  const TestServer server;
  HttpClient client(server.port());
  client.send(chunked_header({{"Expect", "100-continue"}}));
  EXPECT_THAT(client.receive_some(), HasSubstr("100 Continue"));
  client.send(chunk(many(1)));
  EXPECT_EQ(client.read_header().status, 200U) << "with the first line";
  client.send(chunk(line("b", completion("hi", 1)).substr(0, 9)));
  client.send(chunk(line("b", completion("hi", 1)).substr(9)) + kLastChunk);
  EXPECT_THAT(client.read_to_end_of_body(), HasSubstr("\"b\""));
  EXPECT_EQ(client.get("/v1/models").status, 200U);
}

TEST(HttpBatch, lines_wait_outside_the_queue) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 2}}, .queue_limit = 3});
  server.executor.allow_only(0);
  HttpClient batch(server.port());
  batch.send(HttpClient::text("POST", kPath, many(40)));
  EXPECT_EQ(batch.read_header().status, 200U);
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
  HttpClient other(server.port());
  other.send(HttpClient::text("/v1/completions", completion("x", 1)));
  EXPECT_TRUE(server->eventually([](const engine::EngineStatus& s) {
    return s.running + s.waiting == 3;
  })) << "the queue has a place for it";
  server.executor.release();
  EXPECT_EQ(other.read().status, 200U);
  EXPECT_EQ(lines_of(batch.read_to_end_of_body()).size(), 40U);
}

TEST(HttpBatch, a_full_queue_makes_lines_wait) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}}, .queue_limit = 1});
  server.executor.allow_only(0);
  HttpClient other(server.port());
  other.send(HttpClient::text("/v1/completions", completion("x", 2)));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  HttpClient batch(server.port());
  batch.send(HttpClient::text("POST", kPath, many(3)));
  EXPECT_EQ(batch.read_header().status, 200U);
  server.executor.release();
  EXPECT_EQ(other.read().status, 200U);
  const auto found = by_id(lines_of(batch.read_to_end_of_body()));
  EXPECT_EQ(found.size(), 3U);
  for (const auto& [id, each] : found) EXPECT_EQ(each["response"]["status_code"], 200) << each;
}

TEST(HttpBatch, limits_of_its_client_make_lines_wait_unless_they_never_fit) {
  const TestServer server({.http = {.client_limits = {.concurrent = 1, .waiting = 1}}});
  expect_all(ask(server, many(8)), 8, 200);
  json three = completion("x", 1);
  three["n"] = 3;
  const auto lines = lines_of(ask(server, line("n", three)).body);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["response"]["status_code"], 400);
  EXPECT_EQ(lines[0]["response"]["body"]["error"]["code"], "request_too_large");
}

TEST(HttpBatch, lines_have_low_priority_unless_they_say_otherwise) {
  std::mutex mutex;
  std::map<std::size_t, Priority> asked;  // by the size of the prompt
  const NextToken next = [&](const Request& request, std::uint32_t produced) {
    const std::lock_guard lock(mutex);
    asked[request.prompt.size()] = request.priority;
    return letter_at(request, produced);
  };
  const TestServer server(
      {.http = {.client_limits = {.priority_max = Priority::normal}}, .next_token = next});
  json normal = completion("xx", 1);
  normal["priority"] = "normal";
  json high = completion("xxx", 1);
  high["priority"] = "high";
  auto found = by_id(lines_of(
      ask(server, line("1", completion("x", 1)) + line("2", normal) + line("3", high)).body));
  EXPECT_EQ(found["1"]["response"]["status_code"], 200);
  EXPECT_EQ(found["2"]["response"]["status_code"], 200);
  EXPECT_EQ(found["3"]["response"]["status_code"], 403);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(asked, (std::map<std::size_t, Priority>{{1, Priority::low}, {2, Priority::normal}}));
}

TEST(HttpBatch, a_client_that_goes_away_ends_its_lines) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 2}}});
  for (const bool whole : {true, false}) {
    server.executor.allow_only(0);
    HttpClient client(server.port());
    client.send(whole ? HttpClient::text("POST", kPath, many(40, 100))
                      : chunked_header() + chunk(many(40, 100)));
    EXPECT_EQ(client.read_header().status, 200U);
    ASSERT_TRUE(server->eventually(
        [](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
    const std::uint64_t before = server.loop().status().generated_tokens;
    client.reset();
    server.executor.release();
    EXPECT_TRUE(server->eventually_idle());
    EXPECT_LT(server.loop().status().generated_tokens - before, 2000U) << "of 4000";
  }
}

TEST(HttpBatch, a_key_that_is_gone_ends_its_lines) {
  const serve::NewKey alice = serve::make_key("alice:client").value();
  const serve::NewKey bob = serve::make_key("bob:client").value();
  TestServer server({.keys = serve::ApiKeys::parse(alice.line + "\n" + bob.line).value()});
  EXPECT_EQ(ask(server, many(1)).status, 401U);
  server.executor.allow_only(0);
  HttpClient client(server.port());
  client.send(
      HttpClient::text("POST", kPath, many(5, 100), {{"Authorization", "Bearer " + alice.key}}));
  EXPECT_EQ(client.read_header().status, 200U);
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 5; }));
  server->set_keys(serve::ApiKeys::parse(bob.line).value());
  EXPECT_ANY_THROW(client.read_to_end_of_body()) << "the stream is cut";
  server.executor.release();
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpBatch, a_line_that_needs_more_than_a_minute_has_is_refused) {
  const TestServer server({.http = {.client_limits = {.tokens_per_minute = 100}}});
  auto found = by_id(lines_of(
      ask(server, line("much", completion("x", 100)) + line("little", completion("x", 9))).body));
  EXPECT_EQ(found["much"]["response"]["status_code"], 400);
  EXPECT_EQ(found["much"]["response"]["body"]["error"]["code"], "request_too_large");
  EXPECT_EQ(found["little"]["response"]["status_code"], 200);
}

TEST(HttpBatch, a_client_that_does_not_read_is_dropped) {
  std::promise<unsigned> ended;
  TestServer server({.http = {.write_timeout = std::chrono::milliseconds(200),
                              .on_request = [&](const serve::RequestRecord& record) {
                                if (record.tokens || record.status != 200) return;
                                ended.set_value(record.status);
                              }}});
  HttpClient client(server.port(), 4096);
  json body = completion("x", 1);
  body["n"] = 100;
  std::string lines;
  for (int i = 0; i < 1500; ++i) lines += line(std::to_string(i), body);
  client.send(HttpClient::text("POST", kPath, lines));
  EXPECT_EQ(ended.get_future().get(), 200U) << "while nothing is read";
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 150'000U);
}

TEST(HttpBatch, silence_with_nothing_under_way_ends_it) {
  const TestServer server({.http = {.read_timeout = std::chrono::milliseconds(100),
                                    .linger_timeout = std::chrono::milliseconds(500)}});
  HttpClient client(server.port());
  client.send(chunked_header() + chunk(many(1) + "{\"custom_id"));
  const auto response = client.read();
  EXPECT_EQ(response.status, 200U);
  const auto lines = lines_of(response.body);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["response"]["status_code"], 200);
  EXPECT_EQ(lines[1]["error"]["code"], "request_timeout");
  HttpClient silent(server.port());
  silent.send(chunked_header());
  EXPECT_EQ(silent.read().status, 408U);
}

TEST(HttpBatch, a_shutdown_answers_what_is_under_way_and_tells_the_rest) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}}});
  server.executor.allow_only(0);
  HttpClient client(server.port());
  client.send(chunked_header() + chunk(many(1)));
  EXPECT_EQ(client.read_header().status, 200U);
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  server->shutdown();
  HttpClient probe(server.port());
  while (probe.get("/health/ready").status == 200) {
  }
  client.send(chunk(line("late", completion("x", 1)) + line("later", completion("x", 1))) +
              kLastChunk);
  server.executor.release();
  auto found = by_id(lines_of(client.read_to_end_of_body()));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found["l0"]["response"]["status_code"], 200);
  EXPECT_EQ(found["late"]["error"]["code"], "shutting_down");
  EXPECT_EQ(found["later"]["error"]["code"], "shutting_down");
}

TEST(HttpBatch, has_a_record_of_each_line_and_one_of_its_own) {
  std::mutex mutex;
  std::vector<serve::RequestRecord> records;
  {
    const TestServer server({.http = {.on_request = [&](const serve::RequestRecord& record) {
                               const std::lock_guard lock(mutex);
                               records.push_back(record);
                             }}});
    expect_all(ask(server, many(2, 5)), 2, 200);
  }
  ASSERT_EQ(records.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(records[i].route, kPath);
    EXPECT_EQ(records[i].status, 200U);
    ASSERT_TRUE(records[i].tokens);
    EXPECT_EQ(records[i].tokens->completion, 5U);
  }
  EXPECT_EQ(records[2].status, 200U);
  EXPECT_FALSE(records[2].tokens);
}

}  // namespace
}  // namespace forge::test
