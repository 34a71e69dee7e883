#include "cluster_report.h"

#include <array>
#include <iomanip>
#include <ostream>

#include "bench_report.h"
#include "forge/trace/trace_json.h"

namespace forge::apps {
namespace {

struct Column {
  const char* name;
  int width;
};
constexpr std::array kRuleColumns{
    Column{"rule", -8},
    Column{"requests", 8},
    Column{"refused", 9},
    Column{"cached", 8},
    Column{"busiest", 9},
    Column{"preempted", 11},
    Column{"TTFT ms p50/p95", 17},
    Column{"ITL ms p50/p95", 16},
    Column{"seconds", 9},
};

std::string both_ms(const Percentiles& us) {
  return fixed(us.p50 / 1000, 0) + "/" + fixed(us.p95 / 1000, 0);
}

}  // namespace

void print_table(std::span<const ClusterResult> results, std::ostream& out) {
  const auto cell = [&out](const Column& column, const std::string& text) {
    out << (column.width < 0 ? std::left : std::right) << std::setw(std::abs(column.width)) << text;
  };
  for (const Column& column : kRuleColumns) cell(column, column.name);
  out << "  digest\n";
  for (const ClusterResult& r : results) {
    const std::array<std::string, kRuleColumns.size()> row{
        std::string(name_of(r.rule)),
        std::to_string(r.finished),
        std::to_string(r.refused),
        fixed(100 * r.prefix_hit_rate(), 1) + "%",
        fixed(r.imbalance(), 2) + "x",
        std::to_string(r.preemptions),
        both_ms(r.ttft_us),
        both_ms(r.itl_us),
        fixed(r.virtual_seconds, 1)};
    for (std::size_t i = 0; i < row.size(); ++i) cell(kRuleColumns[i], row[i]);
    out << "  " << trace::digest_text(r.digest) << (r.interrupted ? "  interrupted" : "") << '\n';
  }
}

nlohmann::json to_json(std::span<const ClusterResult> results) {
  nlohmann::json runs = nlohmann::json::array();
  for (const ClusterResult& r : results) {
    runs.push_back({{"rule", name_of(r.rule)},
                    {"requests", r.finished},
                    {"refused", r.refused},
                    {"generated_tokens", r.generated_tokens},
                    {"preemptions", r.preemptions},
                    {"tokens_run", r.tokens_run},
                    {"prefix_cache", to_json(r.prefix_cache)},
                    {"ttft_us", to_json(r.ttft_us)},
                    {"itl_us", to_json(r.itl_us)},
                    {"virtual_seconds", r.virtual_seconds},
                    {"digest", trace::digest_text(r.digest)},
                    {"interrupted", r.interrupted}});
  }
  return {{"runs", std::move(runs)}};
}

}  // namespace forge::apps
