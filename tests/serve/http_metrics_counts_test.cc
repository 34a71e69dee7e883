// GET /metrics: what a known workload leaves in it, and who may ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/metrics_text.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::SizeIs;

TEST(HttpMetricsCounts, nothing_of_speculation_where_there_is_none) {
  const TestServer server;
  const MetricsText metrics = scrape(server);
  for (const auto& [name, family] : metrics.families)
    EXPECT_EQ(name.find("spec_"), name.npos) << name;
}

TEST(HttpMetricsCounts, requests_and_tokens_are_those_of_the_answers) {
  const TestServer server;
  HttpClient client(server.port());
  double prompts = 0;
  double completions = 0;
  double cached = 0;
  const std::string prompt(40, 'p');  // two whole blocks and a half: the second one finds them
  for (int i = 0; i < 5; ++i) {
    const json usage = client.post("/v1/completions", completion(prompt, 3 + i)).json()["usage"];
    prompts += usage["prompt_tokens"].get<double>();
    completions += usage["completion_tokens"].get<double>();
    cached += usage["prompt_tokens_details"]["cached_tokens"].get<double>();
  }
  const MetricsText metrics = scrape(server);
  EXPECT_EQ(prompts, 200);
  EXPECT_GT(cached, 0);
  EXPECT_EQ(metrics.value("vllm:prompt_tokens_total"), prompts);
  EXPECT_EQ(metrics.value("vllm:generation_tokens_total"), completions);
  EXPECT_EQ(metrics.value("vllm:prompt_tokens_cached_total"), cached);
  EXPECT_EQ(metrics.value("vllm:prefix_cache_hits_total"), cached);
  EXPECT_EQ(metrics.value("vllm:prefix_cache_queries_total"), prompts);
  EXPECT_EQ(metrics.value("vllm:prompt_tokens_recomputed_total"), 0);
  EXPECT_EQ(metrics.value("vllm:request_success_total", {{"finished_reason", "length"}}), 5);
  EXPECT_EQ(metrics.value("vllm:request_prompt_tokens_sum"), prompts);
  EXPECT_EQ(metrics.value("vllm:request_generation_tokens_sum"), completions);
  EXPECT_EQ(metrics.value("vllm:request_params_max_tokens_sum"), completions);
  EXPECT_EQ(metrics.value("vllm:request_prefill_kv_computed_tokens_sum"), prompts - cached);
  EXPECT_EQ(metrics.value("vllm:request_max_num_generation_tokens_sum"), completions);
  EXPECT_EQ(metrics.value("vllm:request_params_n_sum"), 5);
  for (const char* name :
       {"vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds",
        "vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
        "vllm:request_decode_time_seconds", "vllm:request_inference_time_seconds",
        "vllm:request_time_per_output_token_seconds"}) {
    EXPECT_EQ(metrics.value(std::string(name) + "_count"), 5) << name;
  }
  EXPECT_EQ(metrics.value("vllm:inter_token_latency_seconds_count"), completions - 5);
  EXPECT_EQ(metrics.value("vllm:num_requests_running"), 0);
  EXPECT_EQ(metrics.value("vllm:num_requests_waiting"), 0);
  EXPECT_EQ(metrics.value("vllm:kv_cache_usage_perc"), 0) << "cached blocks count as free";
  EXPECT_EQ(metrics.value("forge:steps_total"), metrics.value("vllm:iteration_tokens_total_count"));
  EXPECT_EQ(metrics.value("forge:steps_total"), metrics.value("forge:step_seconds_count"));
}

TEST(HttpMetricsCounts, choices_of_a_prompt_are_requests_of_the_engine_and_one_of_n) {
  const TestServer server;
  HttpClient client(server.port());
  json body = completion("", 4);
  body["prompt"] = {"x", "y"};
  body["n"] = 3;
  ASSERT_EQ(client.post("/v1/completions", body).status, 200U);
  const MetricsText metrics = scrape(server);
  EXPECT_EQ(metrics.value("vllm:request_success_total", {{"finished_reason", "length"}}), 6);
  EXPECT_EQ(metrics.value("vllm:request_params_n_count"), 2);
  EXPECT_EQ(metrics.value("vllm:request_params_n_sum"), 6);
  EXPECT_EQ(metrics.value("vllm:request_max_num_generation_tokens_count"), 2);
  EXPECT_EQ(metrics.value("vllm:request_max_num_generation_tokens_sum"), 8);
}

TEST(HttpMetricsCounts, each_end_has_its_reason) {
  TestServer server({.next_token = says("one two three")});
  HttpClient client(server.port());
  json body = completion("x", 50);
  ASSERT_EQ(client.post("/v1/completions", body).status, 200U);  // eos
  body["stop"] = "two";
  ASSERT_EQ(client.post("/v1/completions", body).status, 200U);
  ASSERT_EQ(client.post("/v1/completions", completion("x", 2)).status, 200U);
  body = completion("x", 50);
  body["deadline_steps"] = 2;
  ASSERT_EQ(client.post("/v1/completions", body).status, 200U);
  server.executor.fail(true);
  ASSERT_EQ(client.post("/v1/completions", completion("x", 2)).status, 500U);
  server.executor.fail(false);

  server.executor.allow_only(1);
  body = stream("x", 50);
  body["ignore_eos"] = true;
  client.send(HttpClient::text("/v1/completions", body));
  ASSERT_EQ(client.read_header().status, 200U);
  client.close();
  ASSERT_TRUE(server->eventually([&](const engine::EngineStatus&) {
    server.executor.allow_only(1);
    return server.loop().metrics().ended[static_cast<std::size_t>(FinishReason::cancelled)] == 1;
  }));
  server.executor.release();
  ASSERT_TRUE(server->eventually_idle());

  const MetricsText metrics = scrape(server);
  const auto ended = [&metrics](const char* reason) {
    return metrics.value("vllm:request_success_total", {{"finished_reason", reason}});
  };
  EXPECT_EQ(ended("stop"), 2);
  EXPECT_EQ(ended("length"), 1);
  EXPECT_EQ(ended("deadline"), 1);
  EXPECT_EQ(ended("error"), 1);
  EXPECT_EQ(ended("abort"), 1);
  EXPECT_EQ(ended("repetition"), 0);
  EXPECT_THAT(metrics.values("vllm:request_success_total"), SizeIs(6));
}

TEST(HttpMetricsCounts, those_that_run_and_wait_are_seen_while_a_step_hangs) {
  TestServer server({.scheduler = {.cache = {.num_blocks = 64}, .batch = {.max_batch_size = 1}}});
  server.executor.allow_only(1);
  HttpClient running(server.port());
  running.send(HttpClient::text("/v1/completions", completion(std::string(20, 'x'), 9)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  HttpClient waiting(server.port());
  waiting.send(HttpClient::text("/v1/completions", completion("y", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));
  const MetricsText metrics = scrape(server);
  EXPECT_EQ(metrics.value("vllm:num_requests_running"), 1);
  EXPECT_EQ(metrics.value("vllm:num_requests_waiting"), 1);
  EXPECT_EQ(metrics.value("vllm:kv_cache_usage_perc"), 2.0 / 64);
  EXPECT_EQ(metrics.value("forge:connections"), 3);
}

TEST(HttpMetricsCounts, preemptions_and_swaps_are_those_of_the_engine) {
  SchedulerConfig config{.cache = {.num_blocks = 6, .block_size = 4, .num_host_blocks = 8},
                         .batch = {.max_batch_size = 2}};
  config.preemption = PreemptionPolicy::swap;
  TestServer server({.scheduler = config});
  HttpClient client(server.port());
  json body = completion("", 12);
  body["prompt"] = {"aaaa", "bbbb"};
  server.executor.allow_only(0);
  client.send(HttpClient::text("/v1/completions", body));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
  server.executor.release();
  ASSERT_EQ(client.read().status, 200U);
  const MetricsText metrics = scrape(server);
  EXPECT_GT(metrics.value("vllm:num_preemptions_total"), 0);
  EXPECT_EQ(metrics.value("vllm:num_preemptions_total"), server.loop().status().preemptions);
  EXPECT_EQ(metrics.value("forge:swaps_total"), server.loop().status().swaps);
  EXPECT_EQ(metrics.value("vllm:cache_config_info", {{"block_size", "4"},
                                                     {"num_gpu_blocks", "6"},
                                                     {"num_cpu_blocks", "8"},
                                                     {"cache_dtype", "f32"},
                                                     {"enable_prefix_caching", "True"}}),
            1);
}

TEST(HttpMetricsCounts, answers_go_by_pattern_method_and_class_and_never_by_path) {
  const TestServer server;
  HttpClient client(server.port());
  client.get("/v1/models/fake");
  client.get("/v1/models/gpt");
  client.get("/v1/models/gpt-2");
  client.get("/nowhere/1");
  client.get("/nowhere/2");
  client.send(HttpClient::text("PUT", "/v1/models", ""));
  client.read();
  client.send(HttpClient::text("BREW", "/coffee", ""));
  client.read();
  client.send(HttpClient::text("HEAD", "/health", ""));
  client.read(true);
  client.post("/v1/completions", completion("x", 2));
  client.send(HttpClient::text("/v1/completions", stream("x", 2)));
  client.read_header();
  client.read_events();
  HttpClient broken(server.port());
  broken.send("nonsense\r\n\r\n");
  broken.read();
  scrape(server);
  const MetricsText metrics = scrape(server);
  const auto count = [&](const char* handler, const char* method, const char* status) {
    return metrics.value("http_requests_total",
                         {{"handler", handler}, {"method", method}, {"status", status}});
  };
  EXPECT_EQ(count("/v1/models/ID", "GET", "2xx"), 1);
  EXPECT_EQ(count("/v1/models/ID", "GET", "4xx"), 2);
  EXPECT_EQ(count("none", "GET", "4xx"), 2);
  EXPECT_EQ(count("/v1/models", "other", "4xx"), 1);
  EXPECT_EQ(count("none", "other", "5xx"), 1) << "501";
  EXPECT_EQ(count("none", "other", "4xx"), 1) << "what is no HTTP";
  EXPECT_EQ(count("/health", "HEAD", "2xx"), 1);
  EXPECT_EQ(count("/v1/completions", "POST", "2xx"), 2);
  EXPECT_EQ(count("/metrics", "GET", "2xx"), 1) << "the scrape before";
  EXPECT_THAT(metrics.values("http_requests_total"), SizeIs(9));
}

TEST(HttpMetricsCounts, a_model_name_of_any_characters_is_escaped) {
  TestServerOptions options;
  options.model_id = "a \"b\" \\c";
  const TestServer server(options);
  const MetricsText metrics = scrape(server);
  EXPECT_EQ(metrics.value("forge:steps_total", {{"model_name", R"(a \"b\" \\c)"}}), 0);
}

TEST(HttpMetricsAccess, is_for_operators_unless_it_is_open) {
  const serve::NewKey alice = serve::make_key("alice:client").value();
  const serve::NewKey watch = serve::make_key("watch:operator").value();
  for (const bool open : {false, true}) {
    TestServerOptions options{.keys =
                                  serve::ApiKeys::parse(alice.line + "\n" + watch.line).value()};
    options.http.metrics_open = open;
    const TestServer server(options);
    const auto status = [&](const std::string& key) {
      HttpClient::Headers headers;
      if (!key.empty()) headers.emplace_back("Authorization", "Bearer " + key);
      return scrape_response(server.port(), headers).status;
    };
    EXPECT_EQ(status(""), open ? 200U : 401U);
    EXPECT_EQ(status("fk-0"), open ? 200U : 401U);
    EXPECT_EQ(status(alice.key), open ? 200U : 403U);
    EXPECT_EQ(status(watch.key), 200U);
    HttpClient client(server.port());
    EXPECT_EQ(client.get("/forge/v1/cache/stats").status, 401U) << "it opens nothing else";
  }
}

TEST(HttpMetricsAccess, without_keys_it_is_for_this_machine_unless_it_is_open) {
  for (const bool open : {false, true}) {
    TestServerOptions options;
    options.http.metrics_open = open;
    const TestServer server(options);
    HttpClient client(server.port());
    client.send("GET /metrics HTTP/1.1\r\nHost: forge.example\r\n\r\n");
    EXPECT_EQ(client.read().status, open ? 200U : 403U);
    EXPECT_EQ(scrape_response(server.port()).status, 200U);
  }
}

TEST(HttpMetricsAccess, of_a_server_whose_places_are_taken_only_if_it_is_open) {
  for (const bool open : {false, true}) {
    TestServerOptions options;
    options.http.max_connections = 1;
    options.http.metrics_open = open;
    TestServer server(options);
    server.executor.allow_only(0);
    HttpClient busy(server.port());
    busy.send(HttpClient::text("/v1/completions", completion("x", 2)));
    ASSERT_TRUE(server->eventually(
        [](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
    EXPECT_EQ(scrape_response(server.port()).status, open ? 200U : 503U);
  }
}

}  // namespace
}  // namespace forge::test
