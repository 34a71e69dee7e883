#include "load_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench_report.h"

namespace forge::apps {
namespace {

constexpr std::size_t kErrorsShown = 5;
constexpr std::array kHeadings{"TTFT", "TPOT", "ITL", "E2EL"};  // [LoadTime]

/// The times of one request that a limit can be set to.
double ms_of(const LoadRequest& request, LoadTime time) {
  const double first = request.first.value_or(0);
  if (time == LoadTime::ttft) return 1e3 * (first - request.due);
  if (time == LoadTime::e2el) return 1e3 * (request.last - request.due);
  const auto later = static_cast<double>(request.output_tokens) - 1;
  return later > 0 ? 1e3 * (request.last - first) / later : 0;
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

std::string loop_text(const LoadOptions& options) {
  if (options.kind == LoadKind::closed) return std::to_string(options.concurrency) + " clients";
  if (options.kind == LoadKind::recorded) return "as recorded";
  return fixed(options.rate, 2) + " requests/s, at random";
}

std::string limits_text(const std::vector<LoadLimit>& limits) {
  std::string text;
  for (const LoadLimit& limit : limits) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(limit.time)) + " at most " +
            fixed(limit.ms, 1) + " ms";
  }
  return text;
}

}  // namespace

LoadTimes times_of(std::vector<float>& ms) {
  if (ms.empty()) return {};
  std::ranges::sort(ms);
  double sum = 0;
  for (const float each : ms) sum += static_cast<double>(each);
  const auto size = static_cast<double>(ms.size());
  const auto rank = [&ms, size](double share) {
    const auto at = static_cast<std::size_t>(std::ceil(share * size));
    return static_cast<double>(ms[std::max<std::size_t>(at, 1) - 1]);
  };
  return {.mean = sum / size, .p50 = rank(0.5), .p90 = rank(0.9), .p99 = rank(0.99)};
}

LoadReport report_of(const LoadResult& result, const std::vector<LoadLimit>& limits) {
  LoadReport report{.seconds = result.seconds, .times = {}, .errors = {}};
  std::array<std::vector<float>, Names<LoadTime>::kCount> ms;
  const auto add = [&ms](LoadTime time, double value) {
    ms[static_cast<std::size_t>(time)].push_back(static_cast<float>(value));
  };
  for (const LoadRequest& request : result.requests) {
    if (!request.error.empty()) {
      ++report.failed;
      const bool known = std::ranges::find(report.errors, request.error) != report.errors.end();
      if (!known && report.errors.size() < kErrorsShown) report.errors.push_back(request.error);
      continue;
    }
    ++report.completed;
    report.prompt_tokens += request.prompt_tokens;
    report.output_tokens += request.output_tokens;
    add(LoadTime::ttft, ms_of(request, LoadTime::ttft));
    add(LoadTime::e2el, ms_of(request, LoadTime::e2el));
    if (request.output_tokens > 1) add(LoadTime::tpot, ms_of(request, LoadTime::tpot));
    for (const float gap : request.gaps) add(LoadTime::itl, 1e3 * static_cast<double>(gap));
    report.good += std::ranges::all_of(limits, [&request](const LoadLimit& limit) {
      return ms_of(request, limit.time) <= limit.ms;
    });
  }
  for (std::size_t i = 0; i < ms.size(); ++i) report.times[i] = times_of(ms[i]);
  return report;
}

void print(const LoadReport& report, const LoadFlags& flags, const LoadResult& result,
           std::ostream& out) {
  const auto line = [&out](const char* subject, const std::string& text) {
    out << std::left << std::setw(14) << subject << text << '\n';
  };
  const auto rate = [&report](std::uint64_t count, int digits) {
    return fixed(per_second(count, report.seconds), digits);
  };
  line("server", to_string(flags.options.url.address) + ", model " + result.model + ", " +
                     loop_text(flags.options));
  line("requests", std::to_string(report.completed) + " complete, " +
                       std::to_string(report.failed) + " failed, in " + fixed(report.seconds, 3) +
                       " s: " + rate(report.completed, 2) + " requests/s" +
                       (result.interrupted ? "; interrupted" : ""));
  line("tokens", std::to_string(report.prompt_tokens) + " of prompts, " +
                     std::to_string(report.output_tokens) +
                     " generated: " + rate(report.output_tokens, 1) + " tokens/s");
  if (!flags.limits.empty()) {
    line("goodput", rate(report.good, 2) + " requests/s, " + std::to_string(report.good) +
                        " with " + limits_text(flags.limits));
  }
  out << "ms              mean      p50      p90      p99\n";
  for (const LoadTime time : {LoadTime::ttft, LoadTime::tpot, LoadTime::itl, LoadTime::e2el}) {
    const LoadTimes& times = report.times[static_cast<std::size_t>(time)];
    out << std::left << std::setw(10) << kHeadings[static_cast<std::size_t>(time)] << std::right;
    for (const double ms : {times.mean, times.p50, times.p90, times.p99}) {
      out << std::setw(9) << fixed(ms, 3);
    }
    out << '\n';
  }
  for (const std::string& error : report.errors) out << "FAILED: " << error << '\n';
}

nlohmann::json to_json(const LoadReport& report, const LoadFlags& flags, const LoadResult& result) {
  const LoadOptions& options = flags.options;
  const auto rate = [&report](std::uint64_t count) { return per_second(count, report.seconds); };
  nlohmann::json json = {
      {"url", to_string(options.url.address)},
      {"model_id", result.model},
      {"arrivals", name_of(options.kind)},
      {"completed", report.completed},
      {"failed", report.failed},
      {"duration", report.seconds},
      {"total_input_tokens", report.prompt_tokens},
      {"total_output_tokens", report.output_tokens},
      {"request_throughput", rate(report.completed)},
      {"output_throughput", rate(report.output_tokens)},
      {"total_token_throughput", rate(report.prompt_tokens + report.output_tokens)},
      {"errors", report.errors},
      {"interrupted", result.interrupted}};
  if (options.kind == LoadKind::closed) json["max_concurrency"] = options.concurrency;
  if (options.kind == LoadKind::poisson) json["request_rate"] = options.rate;
  if (!flags.limits.empty()) json["request_goodput"] = rate(report.good);
  for (const LoadTime time : {LoadTime::ttft, LoadTime::tpot, LoadTime::itl, LoadTime::e2el}) {
    const LoadTimes& times = report.times[static_cast<std::size_t>(time)];
    const std::string suffix = "_" + std::string(name_of(time)) + "_ms";
    json["mean" + suffix] = times.mean;
    json["median" + suffix] = times.p50;
    json["p90" + suffix] = times.p90;
    json["p99" + suffix] = times.p99;
  }
  return json;
}

}  // namespace forge::apps
