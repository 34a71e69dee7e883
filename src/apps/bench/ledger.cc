#include "ledger.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/json/parse.h"
#include "latency_log.h"

namespace forge::apps {
namespace {

using Checked = tl::expected<void, std::string>;

Checked check_target(const NamedRecording& one, const NamedRecording& first) {
  const nlohmann::ordered_json target = to_json(one.recording.target);
  const nlohmann::ordered_json wanted = to_json(first.recording.target);
  for (const auto& [key, value] : target.items()) {
    if (value == wanted[key]) continue;
    return tl::unexpected(one.file + ": " + key + " is " + json::shown(value) + "; accepted is " +
                          json::shown(wanted[key]) + ", that of " + first.file);
  }
  return {};
}

bool same_run(const NamedRecording& a, const NamedRecording& b) {
  return a.recording.workload == b.recording.workload;
}

/// Recordings of one target and one workload, with the same steps.
using Repeats = std::vector<const NamedRecording*>;

/// Errors: what makes `one` no repeat of `first`, whose workload it has.
Checked check_repeat(const NamedRecording& one, const NamedRecording& first) {
  const std::vector<RecordedStep>& steps = one.recording.steps;
  const auto same_work = [](const RecordedStep& a, const RecordedStep& b) {
    return a.step == b.step && a.work == b.work && a.arrived == b.arrived && a.tokens == b.tokens;
  };
  const auto [step, other] = std::ranges::mismatch(steps, first.recording.steps, same_work);
  const bool is_end = step == steps.end();
  if (!is_end || other != first.recording.steps.end()) {
    return tl::unexpected(one.file + ": says that it repeats " + first.file + ", but " +
                          (is_end ? "ends before step " + std::to_string(other->step)
                                  : "step " + std::to_string(step->step) + " is another"));
  }
  if (steps == first.recording.steps) {
    return tl::unexpected(one.file + ": is " + first.file + " again, to the nanosecond");
  }
  return {};
}

/// The runs of the recordings, in order.
tl::expected<std::vector<Repeats>, std::string> group(std::span<const NamedRecording> recordings,
                                                      const NamedRecording& first) {
  std::vector<Repeats> runs;
  for (const NamedRecording& one : recordings) {
    if (auto same = check_target(one, first); !same) return tl::unexpected(same.error());
    const auto run = std::ranges::find_if(
        runs, [&](const Repeats& repeats) { return same_run(one, *repeats.front()); });
    if (run == runs.end()) {
      runs.push_back({&one});
      continue;
    }
    for (const NamedRecording* const other : *run) {
      if (auto same = check_repeat(one, *other); !same) return tl::unexpected(same.error());
    }
    run->push_back(&one);
  }
  return runs;
}

/// Of an even number the mean of the middle two. Requires: not empty.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<TimedWork> timed_steps(const Repeats& repeats) {
  std::vector<TimedWork> steps;
  for (std::size_t i = 0; i < repeats.front()->recording.steps.size(); ++i) {
    std::vector<double> us;
    for (const NamedRecording* one : repeats) us.push_back(one->recording.steps[i].us());
    steps.push_back({repeats.front()->recording.steps[i].work, median(std::move(us))});
  }
  return steps;
}

std::optional<double> spread_of(const std::vector<double>& measured) {
  if (measured.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(measured);
  return most / least - 1;
}

double error_of(double predicted, double measured) { return std::abs(predicted / measured - 1); }

std::optional<LedgerRow> row_of_kind(StepKind kind, const Repeats& repeats,
                                     const StepTimeModel& model) {
  std::vector<double> measured;
  std::vector<double> predicted;
  std::vector<float> errors;
  for (const TimedWork& step : timed_steps(repeats)) {
    if (step.work.kind() != kind) continue;
    measured.push_back(step.us);
    predicted.push_back(model.us_of(step.work));
    errors.push_back(static_cast<float>(error_of(predicted.back(), step.us)));
  }
  if (measured.empty()) return std::nullopt;
  std::vector<double> medians;
  for (const NamedRecording* one : repeats) {
    std::vector<double> us;
    for (const RecordedStep& step : one->recording.steps) {
      if (step.work.kind() == kind) us.push_back(step.us());
    }
    medians.push_back(median(std::move(us)));
  }
  const Percentiles error = percentiles(errors);
  return LedgerRow{.name = std::string(name_of(kind)),
                   .steps = measured.size(),
                   .measured_us = median(std::move(measured)),
                   .predicted_us = median(std::move(predicted)),
                   .error = error.p50,
                   .error_p95 = error.p95,
                   .spread = spread_of(medians)};
}

/// The times of requests, if steps take what `us_of` says.
LatencyLog latencies(const StepRecording& recording,
                     const std::function<double(const RecordedStep&)>& us_of) {
  LatencyLog log(recording.workload.requests);
  double now_us = 0;
  for (const RecordedStep& step : recording.steps) {
    for (const std::uint32_t request : step.arrived) log.arrive(request, now_us);
    now_us += us_of(step);
    for (auto next = step.tokens.begin(); next != step.tokens.end();) {
      const auto end = std::find_if(next, step.tokens.end(),
                                    [&](std::uint32_t request) { return request != *next; });
      log.take(*next, static_cast<std::size_t>(end - next), now_us);
      next = end;
    }
  }
  return log;
}

/// A row of requests: its name, and where its number is.
struct RequestTime {
  const char* name;
  double Percentiles::*percentile;
  bool is_first_token;

  double of(LatencyLog& log) const {
    return (is_first_token ? log.time_to_first_token() : log.time_per_output_token()).*percentile;
  }
};
constexpr RequestTime kRequestTimes[] = {{"TTFT p50", &Percentiles::p50, true},
                                         {"TTFT p95", &Percentiles::p95, true},
                                         {"TPOT p50", &Percentiles::p50, false},
                                         {"TPOT p95", &Percentiles::p95, false}};

void add_rows_of_requests(const Repeats& repeats, const StepTimeModel& model,
                          std::vector<LedgerRow>& rows) {
  std::vector<LatencyLog> measured;
  measured.reserve(repeats.size());
  for (const NamedRecording* one : repeats) {
    measured.push_back(
        latencies(one->recording, [](const RecordedStep& step) { return step.us(); }));
  }
  LatencyLog predicted = latencies(
      repeats.front()->recording, [&](const RecordedStep& step) { return model.us_of(step.work); });
  for (const RequestTime& time : kRequestTimes) {
    std::vector<double> us(measured.size());
    std::ranges::transform(measured, us.begin(), [&](LatencyLog& log) { return time.of(log); });
    const double measured_us = median(us);
    if (measured_us <= 0) continue;  // nobody got so many tokens
    const double predicted_us = time.of(predicted);
    rows.push_back({.name = time.name,
                    .measured_us = measured_us,
                    .predicted_us = predicted_us,
                    .error = error_of(predicted_us, measured_us),
                    .spread = spread_of(us),
                    .has_goal = time.percentile == &Percentiles::p50});
  }
}

LedgerRun ledger_run(const Repeats& repeats, const StepTimeModel& model) {
  LedgerRun run{.workload = repeats.front()->recording.workload, .repeats = repeats.size()};
  for (const StepKind kind : {StepKind::decode, StepKind::prefill, StepKind::mixed}) {
    if (auto row = row_of_kind(kind, repeats, model)) run.rows.push_back(*std::move(row));
  }
  add_rows_of_requests(repeats, model, run.rows);
  return run;
}

/// Errors: its workload is also fitted, or it has work that the fit has not.
Checked check_held_back(const Repeats& run, const StepTimeModel& model,
                        const std::vector<Repeats>& fitted) {
  const NamedRecording& one = *run.front();
  for (const Repeats& other : fitted) {
    if (one.recording.workload.name != other.front()->recording.workload.name) continue;
    return tl::unexpected(one.file + ": workload is " + in_quotes(one.recording.workload.name) +
                          ", that of " + other.front()->file +
                          ", which is fitted; accepted is another");
  }
  for (const RecordedStep& step : one.recording.steps) {
    const auto term = model.unknown(step.work);
    if (!term) continue;
    return tl::unexpected(one.file + ": step " + std::to_string(step.step) + " has work (" +
                          std::string(name_of(*term)) + ") of which no fitted recording has any");
  }
  return {};
}

}  // namespace

std::optional<ErrorVerdict> LedgerRow::verdict() const {
  if (spread && error < *spread) return ErrorVerdict::noise;
  if (!has_goal) return std::nullopt;
  return error <= kErrorGoal ? ErrorVerdict::kept : ErrorVerdict::missed;
}

tl::expected<Ledger, std::string> make_ledger(std::span<const NamedRecording> fit,
                                              std::span<const NamedRecording> held_back) {
  const auto fitted = group(fit, fit.front());
  if (!fitted) return tl::unexpected(fitted.error());
  const auto others = group(held_back, fit.front());
  if (!others) return tl::unexpected(others.error());
  std::vector<TimedWork> steps;
  for (const Repeats& run : *fitted) {
    const std::vector<TimedWork> more = timed_steps(run);
    steps.insert(steps.end(), more.begin(), more.end());
  }
  Ledger ledger{.target = fit.front().recording.target,
                .model = fit_step_times(steps),
                .steps_fitted = steps.size()};
  for (const Repeats& run : *fitted) ledger.fitted.push_back(ledger_run(run, ledger.model));
  for (const Repeats& run : *others) {
    if (auto fine = check_held_back(run, ledger.model, *fitted); !fine) {
      return tl::unexpected(fine.error());
    }
    ledger.held_back.push_back(ledger_run(run, ledger.model));
  }
  return ledger;
}

}  // namespace forge::apps
