// GET /metrics: every family, with its type, labels and buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "forge/serve/http_server.h"
#include "serve/metrics_text.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using Labels = std::set<std::string>;
using Edges = std::vector<double>;

// What vLLM says, and not what our sources do: the loggers of its V1 engine and its page "Metrics";
// prometheus.io, "Writing client libraries".
const Edges kFirstTokenEdges{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                             1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
const Edges kTokenEdges{.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                        .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
const Edges kRequestEdges{.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                          30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
const Edges kStepTokenEdges{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
/// 1, 2, 5 times powers of ten, up to the context of the test's model, 8192.
const Edges kLengthEdges{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
const Edges kStepEdges{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, .001, .002, .005, .01,
                       .02,  .05,  .1,   .2,   .5,   1,    2,    5,    10};

struct Row {
  std::string name;
  std::string type;
  Labels labels = {};
  Edges edges = {};
};

const Labels kCacheLabels{"block_size", "num_gpu_blocks", "num_cpu_blocks", "cache_dtype",
                          "enable_prefix_caching"};

std::vector<Row> expected_families() {
  return {
      {"forge:build_info", "gauge", {"version"}},
      {"forge:connections", "gauge"},
      {"forge:execute_seconds", "histogram", {}, kStepEdges},
      {"forge:kv_events_dropped_total", "counter"},
      {"forge:kv_events_published_total", "counter"},
      {"forge:last_step_age_seconds", "gauge"},
      {"forge:memory_bytes", "gauge", {"memory", "use"}},
      {"forge:overtaken_max", "gauge"},
      {"forge:requests_limited_total", "counter", {"limit"}},
      {"forge:schedule_seconds", "histogram", {}, kStepEdges},
      {"forge:sessions", "gauge"},
      {"forge:spec_acceptance_alarm", "gauge"},
      {"forge:stalled_steps", "gauge"},
      {"forge:step_seconds", "histogram", {}, kStepEdges},
      {"forge:steps_total", "counter"},
      {"forge:swaps_total", "counter"},
      {"forge:target_reopens_total", "counter"},
      {"forge:trace_failed", "gauge"},
      {"http_requests_total", "counter", {"handler", "method", "status"}},
      {"process_cpu_seconds_total", "counter"},
      {"process_max_fds", "gauge"},
      {"process_open_fds", "gauge"},
      {"process_resident_memory_bytes", "gauge"},
      {"process_start_time_seconds", "gauge"},
      {"vllm:cache_config_info", "gauge", kCacheLabels},
      {"vllm:e2e_request_latency_seconds", "histogram", {}, kRequestEdges},
      {"vllm:generation_tokens_total", "counter"},
      {"vllm:inter_token_latency_seconds", "histogram", {}, kTokenEdges},
      {"vllm:iteration_tokens_total", "histogram", {}, kStepTokenEdges},
      {"vllm:kv_cache_usage_perc", "gauge"},
      {"vllm:num_preemptions_total", "counter"},
      {"vllm:num_requests_running", "gauge"},
      {"vllm:num_requests_waiting", "gauge"},
      {"vllm:prefix_cache_hits_total", "counter"},
      {"vllm:prefix_cache_queries_total", "counter"},
      {"vllm:prompt_tokens_cached_total", "counter"},
      {"vllm:prompt_tokens_recomputed_total", "counter"},
      {"vllm:prompt_tokens_total", "counter"},
      {"vllm:request_decode_time_seconds", "histogram", {}, kRequestEdges},
      {"vllm:request_generation_tokens", "histogram", {}, kLengthEdges},
      {"vllm:request_inference_time_seconds", "histogram", {}, kRequestEdges},
      {"vllm:request_max_num_generation_tokens", "histogram", {}, kLengthEdges},
      {"vllm:request_params_max_tokens", "histogram", {}, kLengthEdges},
      {"vllm:request_params_n", "histogram", {}, {1, 2, 5, 10, 20}},
      {"vllm:request_prefill_kv_computed_tokens", "histogram", {}, kLengthEdges},
      {"vllm:request_prefill_time_seconds", "histogram", {}, kRequestEdges},
      {"vllm:request_prompt_tokens", "histogram", {}, kLengthEdges},
      {"vllm:request_queue_time_seconds", "histogram", {}, kRequestEdges},
      {"vllm:request_success_total", "counter", {"finished_reason"}},
      {"vllm:request_time_per_output_token_seconds", "histogram", {}, kTokenEdges},
      {"vllm:spec_decode_num_accepted_tokens_per_pos_total", "counter", {"position"}},
      {"vllm:spec_decode_num_accepted_tokens_total", "counter"},
      {"vllm:spec_decode_num_draft_tokens_total", "counter"},
      {"vllm:spec_decode_num_drafts_total", "counter"},
      {"vllm:time_to_first_token_seconds", "histogram", {}, kFirstTokenEdges},
  };
}

/// A server that has all families: it speculates, is followed, and has run something.
class HttpMetrics : public ::testing::Test {
 protected:
  HttpMetrics() {
    server_.executor.drafts = 3;
    HttpClient client(server_.port());
    EXPECT_EQ(client.post("/v1/completions", completion("Hello", 9)).status, 200U);
  }

  static serve::HttpOptions followed() {
    serve::HttpOptions options;
    options.linger_timeout = std::chrono::milliseconds(500);
    options.event_counts = [] { return serve::EventCounts{.published = 7, .dropped = 1}; };
    return options;
  }

  TestServer server_{{.http = followed(), .draft_source = "ngram", .acceptance = {0, 100}}};
};

TEST_F(HttpMetrics, are_the_families_of_the_table_in_order) {
  const MetricsText metrics = scrape(server_);
  std::vector<std::string> names;
  for (const Row& row : expected_families()) names.push_back(row.name);
  EXPECT_THAT(metrics.order, ElementsAreArray(names));
}

TEST_F(HttpMetrics, have_types_and_labels_of_the_table) {
  const MetricsText metrics = scrape(server_);
  for (const Row& row : expected_families()) {
    const auto& family = metrics.families.at(row.name);
    EXPECT_EQ(family.type, row.type) << row.name;
    EXPECT_FALSE(family.help.empty()) << row.name;
    EXPECT_FALSE(family.samples.empty()) << row.name;
    Labels expected = row.labels;
    if (row.name.find(':') != std::string::npos) expected.insert({"model_name", "engine"});
    for (const auto& sample : family.samples) {
      Labels labels;
      for (const auto& [label, value] : sample.labels) {
        if (label != "le") labels.insert(label);
        if (label == "model_name") {
          EXPECT_EQ(value, "fake");
        }
        if (label == "engine") {
          EXPECT_EQ(value, "0");
        }
      }
      EXPECT_EQ(labels, expected) << row.name;
      EXPECT_TRUE(std::isfinite(sample.value) && sample.value >= 0) << sample.name;
    }
  }
}

TEST_F(HttpMetrics, have_the_buckets_of_the_table_which_add_up) {
  const MetricsText metrics = scrape(server_);
  for (const Row& row : expected_families()) {
    if (row.type != "histogram") continue;
    Edges edges;
    double below = 0;
    for (const auto& sample : metrics.families.at(row.name).samples) {
      if (sample.name != row.name + "_bucket") continue;
      edges.push_back(std::stod(sample.labels.at("le")));
      EXPECT_GE(sample.value, below) << row.name;
      below = sample.value;
    }
    ASSERT_FALSE(edges.empty()) << row.name;
    EXPECT_EQ(below, metrics.value(row.name + "_count")) << row.name;
    EXPECT_TRUE(std::isinf(edges.back())) << row.name;
    edges.pop_back();
    EXPECT_EQ(edges, row.edges) << row.name;
  }
}

TEST_F(HttpMetrics, are_text_of_version_0_0_4_whose_header_head_gets_too) {
  const auto response = scrape_response(server_.port());
  EXPECT_EQ(response.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const auto head = scrape_response(server_.port(), {}, "HEAD");
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(scrape_response(server_.port(), {}, "POST").status, 405U);
}

TEST_F(HttpMetrics, of_drafts_agree_with_usage) {
  HttpClient client(server_.port());
  const double before = scrape(server_).value("vllm:spec_decode_num_draft_tokens_total");
  const json drafts =
      client.post("/v1/completions", completion("World", 40)).json()["usage"]["drafts"];
  const MetricsText metrics = scrape(server_);
  EXPECT_EQ(metrics.value("vllm:spec_decode_num_draft_tokens_total") - before, drafts["proposed"]);
  EXPECT_GT(metrics.value("vllm:spec_decode_num_drafts_total"), 0);
  double accepted = 0;
  for (const double at_place :
       metrics.values("vllm:spec_decode_num_accepted_tokens_per_pos_total")) {
    accepted += at_place;
  }
  EXPECT_EQ(metrics.value("vllm:spec_decode_num_accepted_tokens_total"), accepted);
  EXPECT_GT(
      metrics.value("vllm:spec_decode_num_accepted_tokens_per_pos_total", {{"position", "0"}}), 0);
  EXPECT_EQ(metrics.value("forge:spec_acceptance_alarm"), 0);
}

TEST(HttpMetricsPage, has_the_rows_of_the_table) {
  const std::string page = serve::metrics_page();
  std::size_t rows = 0;
  for (std::size_t at = page.find("\n| `"); at != std::string::npos;
       at = page.find("\n| `", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, expected_families().size());
  for (const Row& row : expected_families()) {
    EXPECT_THAT(page, HasSubstr("| `" + row.name + "` | " + row.type + " | "));
    const std::string line = page.substr(page.find("| `" + row.name + "`"));
    for (const std::string& label : row.labels) {
      EXPECT_THAT(line.substr(0, line.find('\n')), HasSubstr("`" + label + "`")) << row.name;
    }
  }
}

}  // namespace
}  // namespace forge::test
