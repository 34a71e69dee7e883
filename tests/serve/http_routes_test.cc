// What each path answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "forge/serve/http_server.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(HttpRoutes, the_health_for_operators_reports_the_engine) {
  TestServer server;
  HttpClient client(server.port());
  const auto response = client.get("/forge/v1/health");
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.header("Content-Type"), "application/json");
  EXPECT_EQ(response.json(), json({{"status", "ok"},
                                   {"waiting", 0},
                                   {"running", 0},
                                   {"steps", 0},
                                   {"stalled_steps", 0},
                                   {"generated_tokens", 0},
                                   {"preemptions", 0},
                                   {"free_blocks", 512},
                                   {"total_blocks", 512},
                                   {"connections", 1}}));
}

/// The rows of the page of routes: a method and a path each, with an ID of 7.
std::vector<std::pair<std::string, std::string>> rows_of_page() {
  const std::string page = serve::routes_page();
  const std::regex row(R"(\| (GET|POST|DELETE) \| `([^`]*)` \|)");
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::sregex_iterator match(page.begin(), page.end(), row), end; match != end; ++match) {
    rows.emplace_back((*match)[1], std::regex_replace((*match)[2].str(), std::regex("ID$"), "7"));
  }
  return rows;
}

TEST(HttpRoutes, each_route_of_the_page_takes_its_method_alone_and_is_named_to_who_is_lost) {
  TestServer server;
  HttpClient client(server.port());
  const auto ask = [&client](std::string_view method, std::string_view path) {
    client.send(HttpClient::text(method, path, ""));
    return client.read();
  };
  const std::string lost = ask("GET", "/nowhere").json()["error"]["message"];
  const auto rows = rows_of_page();
  ASSERT_EQ(rows.size(), 29U);
  for (const auto& [method, path] : rows) {
    const auto answer = ask(method, path);
    EXPECT_NE(answer.status, 405U) << path;
    if (answer.status == 404) {
      EXPECT_NE(answer.json()["error"]["code"], "not_found") << path;
    }
    EXPECT_EQ(ask("PUT", path).status, 405U) << path;
    EXPECT_THAT(lost, HasSubstr(method + " " + std::regex_replace(path, std::regex("7$"), "ID")));
  }
}

TEST(HttpRoutes, models_are_listed_and_found_by_id) {
  TestServer server;
  HttpClient client(server.port());
  const json entry = {
      {"id", "fake"},   {"object", "model"}, {"created", 1'700'000'000}, {"owned_by", "forge"},
      {"root", "fake"}, {"parent", nullptr}, {"max_model_len", 512 * 16}};
  EXPECT_EQ(client.get("/v1/models").json(), json({{"object", "list"}, {"data", {entry}}}));
  EXPECT_EQ(client.get("/v1/models/fake").json(), entry);
  const auto missing = client.get("/v1/models/gpt");
  EXPECT_EQ(missing.status, 404U);
  EXPECT_EQ(missing.json()["error"]["code"], "model_not_found");
}

TEST(HttpRoutes, generate_answers_with_text_and_counts) {
  TestServer server;
  HttpClient client(server.port());
  const auto response = client.post("/generate", {{"prompt", "Hello"}, {"max_tokens", 5}});
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(
      response.json(),
      json({{"text", expected_text("Hello", 5)}, {"prompt_tokens", 5}, {"completion_tokens", 5}}));
  EXPECT_EQ(client.post("/generate", {{"prompt", "Hello"}}).json()["completion_tokens"], 32);
}

TEST(HttpRoutes, a_completion_has_openai_shape) {
  TestServer server;
  HttpClient client(server.port());
  json answer = client.post("/v1/completions", completion("Hello", 7)).json();
  EXPECT_GT(answer["created"].get<std::int64_t>(), 1'700'000'000);
  answer.erase("created");
  answer.erase("id");
  EXPECT_EQ(answer, json({{"object", "text_completion"},
                          {"model", "fake"},
                          {"choices",
                           {{{"index", 0},
                             {"text", expected_text("Hello", 7)},
                             {"logprobs", nullptr},
                             {"finish_reason", "length"}}}},
                          {"usage",
                           {{"prompt_tokens", 5},
                            {"completion_tokens", 7},
                            {"total_tokens", 12},
                            {"prompt_tokens_details", {{"cached_tokens", 0}}}}}}));
}

TEST(HttpRoutes, several_prompts_are_several_choices_each_as_if_alone) {
  TestServer server;
  HttpClient client(server.port());
  json body = completion("", 6);
  body["prompt"] = {"one", "two", "three"};
  const json answer = client.post("/v1/completions", body).json();
  ASSERT_EQ(answer["choices"].size(), 3U);
  EXPECT_EQ(answer["choices"][0]["text"], expected_text("one", 6));
  EXPECT_EQ(answer["choices"][1]["text"], expected_text("two", 6));
  EXPECT_EQ(answer["choices"][2]["text"], expected_text("three", 6));
  EXPECT_EQ(answer["usage"], json({{"prompt_tokens", 11},
                                   {"completion_tokens", 18},
                                   {"total_tokens", 29},
                                   {"prompt_tokens_details", {{"cached_tokens", 0}}}}));
}

TEST(HttpRoutes, several_prompts_that_the_queue_cannot_take_are_refused_together) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}}, .queue_limit = 5});
  server.executor.allow_only(1);
  HttpClient running(server.port());
  running.send(HttpClient::text("/v1/completions", completion("x", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  HttpClient waiting(server.port());
  waiting.send(HttpClient::text("/v1/completions", completion("y", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));

  HttpClient client(server.port());
  json body = completion("", 6);
  body["prompt"] = {"one", "two", "three", "four", "five"};
  const auto response = client.post("/v1/completions", body);
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.header("Retry-After"), "1");
  EXPECT_EQ(server.loop().status().waiting, 1U);
  server.executor.release();
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_EQ(client.post("/v1/completions", body).status, 200U);
}

TEST(HttpRoutes, more_prompts_than_the_queue_ever_holds_are_not_asked_to_come_again) {
  TestServer server({.queue_limit = 4});
  HttpClient client(server.port());
  json body = completion("", 6);
  body["prompt"] = {"one", "two", "three", "four", "five"};
  const auto response = client.post("/v1/completions", body);
  EXPECT_EQ(response.status, 400U);
  EXPECT_EQ(response.header("Retry-After"), "");
  EXPECT_EQ(response.json()["error"]["param"], "prompt");
  EXPECT_EQ(response.json()["error"]["message"],
            "prompt has 5 prompts; accepted are 1 .. 4, as many as the queue of this server "
            "holds");
}

TEST(HttpRoutes, finish_reasons_are_stop_and_length) {
  // "abc<eos>", whatever the prompt.
  TestServer server({.next_token = [](const Request&, std::uint32_t position) {
    return position < 3 ? text::ByteTokenizer::token_of(static_cast<unsigned char>('a' + position))
                        : text::ByteTokenizer::kEos;
  }});
  HttpClient client(server.port());
  const auto choice = [&client](int max_tokens, const json& stop) {
    json body = completion("x", max_tokens);
    body["stop"] = stop;
    return client.post("/v1/completions", body).json()["choices"][0];
  };
  EXPECT_EQ(choice(2, nullptr)["finish_reason"], "length");
  EXPECT_EQ(choice(9, nullptr)["finish_reason"], "stop");
  EXPECT_EQ(choice(9, nullptr)["text"], "abc");
  EXPECT_EQ(choice(9, "bc")["finish_reason"], "stop");
  EXPECT_EQ(choice(9, "bc")["text"], "a");
  EXPECT_EQ(choice(9, {"zz", "c"})["text"], "ab");
  json on_and_on = completion("x", 9);
  on_and_on["ignore_eos"] = true;
  const json answer = client.post("/v1/completions", on_and_on).json();
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 9);
}

TEST(HttpRoutes, text_is_valid_utf8_whatever_the_model_says) {
  // The two bytes of U+00E9, then bytes of no character at all.
  TestServer server({.next_token = [](const Request&, std::uint32_t position) {
    return text::ByteTokenizer::token_of(position == 0 ? 0xC3 : position == 1 ? 0xA9 : 0xFF);
  }});
  HttpClient client(server.port());
  const json answer = client.post("/v1/completions", completion("x", 3)).json();
  EXPECT_EQ(answer["choices"][0]["text"], "\u00e9\ufffd");
}

TEST(HttpRoutes, sampling_reaches_the_model) {
  TestServer server;
  HttpClient client(server.port());
  const auto text = [&client](double temperature, int seed) {
    json body = completion("x", 8);
    body["temperature"] = temperature;
    body["seed"] = seed;
    return client.post("/v1/completions", body).json()["choices"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text(0, 1), text(0, 2));
  EXPECT_EQ(text(1, 1), text(1, 1));
  EXPECT_NE(text(1, 1), text(1, 2));
}

TEST(HttpRoutes, several_choices_of_a_prompt_have_seeds_that_follow_each_other) {
  TestServer server;
  HttpClient client(server.port());
  const auto texts = [&](int seed, int n) {
    json body = completion("x", 8);
    body["prompt"] = {"x", "y"};
    body["temperature"] = 1;
    body["seed"] = seed;
    body["n"] = n;
    const json answer = client.post("/v1/completions", body).json();
    EXPECT_EQ(answer["usage"]["prompt_tokens"], 2);
    EXPECT_EQ(answer["usage"]["completion_tokens"], 2 * n * 8);
    std::vector<std::string> all;
    for (const json& choice : answer["choices"]) all.push_back(choice["text"]);
    return all;
  };
  const auto three = texts(5, 3);
  ASSERT_EQ(three.size(), 6U);
  const auto last = texts(7, 1);
  EXPECT_EQ(three[2], last[0]);
  EXPECT_EQ(three[5], last[1]);
  EXPECT_NE(three[0], three[1]);
  EXPECT_NE(three[0], three[3]);
}

TEST(HttpRoutes, a_request_that_the_parser_refuses_gets_its_error) {
  TestServer server;
  HttpClient client(server.port());
  json body = completion("x", 4);
  body["top_p"] = 1.5;
  const auto response = client.post("/v1/completions", body);
  EXPECT_EQ(response.status, 400U);
  EXPECT_EQ(response.json()["error"]["param"], "top_p");
  EXPECT_EQ(client.post("/generate", {{"prompt", 1}}).status, 400U);
  body = completion("x", 4);
  body["model"] = "gpt";
  EXPECT_EQ(client.post("/v1/completions", body).status, 404U);
}

TEST(HttpRoutes, a_request_that_could_never_fit_is_refused_with_the_numbers) {
  TestServer server({.scheduler = {.cache = {.num_blocks = 4, .block_size = 16}}});
  HttpClient client(server.port());
  const auto response = client.post("/v1/completions", completion(std::string(60, 'x'), 5));
  EXPECT_EQ(response.status, 400U);
  EXPECT_EQ(response.json()["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(response.json()["error"]["message"].get<std::string>(),
              HasSubstr("accepted are up to 59 bytes; the context of model 'fake' has 64"));
}

TEST(HttpRoutes, a_failing_model_is_a_500_and_the_server_goes_on) {
  TestServer server;
  server.executor.fail(true);
  HttpClient client(server.port());
  const auto response = client.post("/v1/completions", completion("x", 4));
  EXPECT_EQ(response.status, 500U);
  EXPECT_EQ(response.json()["error"]["type"], "server_error");
  EXPECT_EQ(client.post("/generate", {{"prompt", "x"}}).status, 500U);
  server.executor.fail(false);
  EXPECT_EQ(client.post("/v1/completions", completion("x", 4)).status, 200U);
}

TEST(HttpRoutes, an_unknown_path_is_404_and_names_those_that_are_known) {
  TestServer server;
  HttpClient client(server.port());
  const auto response = client.get("/v2/\xff");
  EXPECT_EQ(response.status, 404U);
  EXPECT_THAT(response.json()["error"]["message"].get<std::string>(),
              HasSubstr("POST /v1/completions"));
  EXPECT_EQ(client.post("/v1/embeddings", json::object()).status, 404U);
}

TEST(HttpRoutes, a_known_path_with_another_method_is_405_with_allow) {
  TestServer server;
  HttpClient client(server.port());
  const auto get = client.get("/v1/completions");
  EXPECT_EQ(get.status, 405U);
  EXPECT_EQ(get.header("Allow"), "POST");
  const auto post = client.post("/healthz", json::object());
  EXPECT_EQ(post.status, 405U);
  EXPECT_EQ(post.header("Allow"), "GET, HEAD");
  client.send("PUT /generate HTTP/1.1\r\nHost: test\r\n\r\n");
  const auto put = client.read();
  EXPECT_EQ(put.status, 405U);
  EXPECT_THAT(put.json()["error"]["message"].get<std::string>(), HasSubstr("PUT"));
}

TEST(HttpRoutes, a_query_and_an_absolute_target_do_not_change_the_path) {
  TestServer server;
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/healthz?verbose=1").status, 200U);
  EXPECT_EQ(client.get("http://example.org/v1/models").status, 200U);
  EXPECT_EQ(client.get("http://example.org").header("Content-Type"), "text/html; charset=utf-8");
}

TEST(HttpRoutes, a_body_that_is_not_plain_json_is_415) {
  TestServer server;
  HttpClient client(server.port());
  const std::string body = completion("x", 4).dump();
  const auto status = [&](const HttpClient::Headers& headers) {
    client.send(HttpClient::text("POST", "/v1/completions", body, headers));
    return client.read().status;
  };
  EXPECT_EQ(status({{"Content-Type", "text/plain"}}), 415U);
  EXPECT_EQ(status({{"Content-Type", "application/x-www-form-urlencoded"}}), 415U);
  EXPECT_EQ(status({{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}}), 415U);
  EXPECT_EQ(status({{"Content-Type", "Application/JSON; charset=utf-8"}}), 200U);
  EXPECT_EQ(status({}), 200U) << "a missing Content-Type is tolerated";
}

TEST(HttpRoutes, head_gets_the_header_of_get) {
  TestServer server;
  HttpClient client(server.port());
  const auto get = client.get("/v1/models");
  client.send(HttpClient::text("HEAD", "/v1/models", ""));
  const auto head = client.read(true);
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.header("Content-Length"), std::to_string(get.body.size()));
  EXPECT_EQ(client.get("/healthz").status, 200U) << "no body was left in the connection";
  client.send(HttpClient::text("HEAD", "/generate", ""));
  EXPECT_EQ(client.read(true).status, 405U);
}

}  // namespace
}  // namespace forge::test
