#include "metrics_page.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

#include "forge/serve/http_server.h"
#include "handlers.h"

namespace forge::serve {
namespace {

std::string_view type_name(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      return "gauge";
  }
}

std::vector<Series::Label> shared_labels(const MetricFamily& family, const ModelCard& model) {
  if (!family.is_of_engine()) return {};
  return {{"model_name", model.id}, {"engine", "0"}};
}

}  // namespace

prometheus::ClientMetric& Series::start(std::vector<Label> labels) {
  prometheus::ClientMetric& series = all_.emplace_back();
  series.label = labels_;
  for (Label& label : labels) series.label.push_back(std::move(label));
  return series;
}

void Series::add(double value, std::vector<Label> labels) {
  prometheus::ClientMetric& series = start(std::move(labels));
  (type_ == prometheus::MetricType::Counter ? series.counter.value : series.gauge.value) = value;
}

void Series::add(const engine::HistogramView& histogram, double edge_max) {
  prometheus::ClientMetric::Histogram& out = start({}).histogram;
  for (std::size_t i = 0; i < histogram.edges.size(); ++i) {
    out.sample_count += histogram.counts[i];
    if (histogram.edges[i] > edge_max) continue;
    out.bucket.push_back({.cumulative_count = out.sample_count, .upper_bound = histogram.edges[i]});
  }
  out.sample_count += histogram.counts.back();
  out.sample_sum = histogram.sum;
}

std::string metrics_text(const MetricsSnapshot& snapshot) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricFamily& family : metric_families()) {
    Series series(family.type, shared_labels(family, snapshot.model));
    family.collect(snapshot, series);
    auto metrics = series.take();
    if (metrics.empty()) continue;
    families.push_back({.name = std::string(family.name),
                        .help = std::string(family.help),
                        .type = family.type,
                        .metric = std::move(metrics)});
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

std::string metrics_page() {
  std::string page = R"(# Metrics

What `GET /metrics` answers, as `forge-infer --list-metrics` prints it: Prometheus' text format 0.0.4.
[serving.md](serving.md#metrics) says how to scrape it. What begins with `vllm:` has the name, type, labels,
buckets and meaning that vLLM gives it; `vllm:` and `forge:` have the labels `model_name` and `engine`, too. Times
are in seconds.

| name | type | labels | meaning |
|---|---|---|---|
)";
  for (const MetricFamily& family : metric_families()) {
    page += "| `" + std::string(family.name) + "` | " + std::string(type_name(family.type)) +
            " | " + std::string(family.labels) + " | " + std::string(family.help) + " |\n";
  }
  return page;
}

namespace handlers {

Answer metrics(const RouteCall& call) {
  const ServerState& state = call.state;
  const ServedModel& model = state.model();
  const auto& event_counts = state.options.event_counts;
  const MetricsSnapshot snapshot{
      .model = model.card,
      .config = model.loop.config(),
      .counts = state.counts,
      .status = model.loop.status(),
      .engine = model.loop.metrics(),
      .process = read_process_metrics(),
      .events = event_counts ? std::optional(event_counts()) : std::nullopt,
      .connections = state.connections.count(),
      .now = std::chrono::steady_clock::now()};
  return Reply{.body = metrics_text(snapshot),
               .headers = {{http::field::content_type, std::string(kMetricsContentType)}}};
}

}  // namespace handlers
}  // namespace forge::serve
