// The page of metrics: numbers, collected from where they are counted, in Prometheus' text format.
//
//   loop thread    EngineMetrics, EngineStatus --copy--+
//   I/O thread     ServeCounts, ModelCard -------------+--> MetricsSnapshot --> families --> text
//   the system     ProcessMetrics ---------------------+
//
// Nothing is registered and nothing lives between two scrapes: each builds its families from a
// snapshot, so the cost of a scrape depends on the number of series and not on what the server
// does. The families stand in one table (metric_families.cc), by name; the page of the book,
// `forge-infer --list-metrics`, walks the same one.
//
// Names, types, labels and edges with "vllm:" are vLLM's (the loggers of its V1 engine), those with
// "process_" and "http_" what Prometheus' own clients have, those with "forge:" our own. Source of
// the format: prometheus.io, "Exposition formats", text format 0.0.4.
//
// Thread contract: pure functions.
#pragma once

#include <prometheus/metric_family.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/scheduler_config.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/http_options.h"
#include "forge/serve/openai_api.h"
#include "process_metrics.h"
#include "serve_counts.h"

namespace forge::serve {

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

struct MetricsSnapshot {
  const ModelCard& model;
  const SchedulerConfig& config;
  const ServeCounts& counts;
  engine::EngineStatus status;
  engine::EngineMetrics engine;
  std::optional<ProcessMetrics> process;
  std::optional<EventCounts> events;
  std::size_t connections = 0;
  engine::TimePoint now;
};

/// The series of one family, as a row of the table adds them. Each has the labels of the family
/// that all series share, and those that it is added with.
class Series {
 public:
  using Label = prometheus::ClientMetric::Label;

  Series(prometheus::MetricType type, std::vector<Label> labels)
      : type_(type), labels_(std::move(labels)) {}

  void add(double value, std::vector<Label> labels = {});
  /// Edges above `edge_max` are left out: no value can be there.
  void add(const engine::HistogramView& histogram, double edge_max = kNoEdge);

  std::vector<prometheus::ClientMetric> take() { return std::move(all_); }

 private:
  static constexpr double kNoEdge = 1e300;

  prometheus::ClientMetric& start(std::vector<Label> labels);

  prometheus::MetricType type_;
  std::vector<Label> labels_;
  std::vector<prometheus::ClientMetric> all_;
};

struct MetricFamily {
  std::string_view name;
  prometheus::MetricType type;
  std::string_view labels;  ///< beside model_name and engine, as the page shows them
  std::string_view help;
  void (*collect)(const MetricsSnapshot& from, Series& to);

  /// What has a prefix is of a model's engine and says which.
  bool is_of_engine() const { return name.find(':') != std::string_view::npos; }
};

/// Ascending by name.
std::span<const MetricFamily> metric_families();

/// Families without a series are left out.
std::string metrics_text(const MetricsSnapshot& snapshot);

}  // namespace forge::serve
