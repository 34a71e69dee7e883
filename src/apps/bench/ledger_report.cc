#include "ledger_report.h"

#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "bench_report.h"

namespace forge::apps {
namespace {

struct LedgerColumn {
  const char* title;
  int width;
};
constexpr std::array kLedgerColumns{LedgerColumn{"", -10},           LedgerColumn{"steps", 5},
                                    LedgerColumn{"measured us", 13}, LedgerColumn{"predicted", 12},
                                    LedgerColumn{"error", 8},        LedgerColumn{"at p95", 8},
                                    LedgerColumn{"spread", 8},       LedgerColumn{"goal", 8}};
using LedgerCells = std::array<std::string, kLedgerColumns.size()>;

std::string in_percent(double part) { return fixed(100 * part, 1) + "%"; }

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string verdict_text(const LedgerRow& row) {
  const auto verdict = row.verdict();
  return verdict ? std::string(name_of(*verdict)) : "";
}

LedgerCells cells_of(const LedgerRow& row) {
  const bool of_steps = row.steps > 0;
  return {row.name,
          of_steps ? std::to_string(row.steps) : "",
          fixed(row.measured_us, 1),
          fixed(row.predicted_us, 1),
          in_percent(row.error),
          of_steps ? in_percent(row.error_p95) : "",
          row.spread ? in_percent(*row.spread) : "-",
          verdict_text(row)};
}

void print_cells(const LedgerCells& cells, std::ostream& out) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto [title, width] = kLedgerColumns[i];
    const auto size = static_cast<std::size_t>(width < 0 ? -width : width);
    const std::string room(size - std::min(size, cells[i].size()), ' ');
    line += width < 0 ? cells[i] + room : room + cells[i];
  }
  out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
}

void print_run(const LedgerRun& run, const char* part, std::ostream& out) {
  const RecordedWorkload& w = run.workload;
  out << '\n'
      << part << ' ' << w.name << ": " << w.mode << ", " << counted(w.requests, "request")
      << ", batch of " << w.max_batch_size << ", " << counted(run.repeats, "repeat") << '\n';
  LedgerCells titles;
  for (std::size_t i = 0; i < titles.size(); ++i) titles[i] = kLedgerColumns[i].title;
  print_cells(titles, out);
  for (const LedgerRow& row : run.rows) print_cells(cells_of(row), out);
}

void print_model(const Ledger& ledger, std::ostream& out) {
  const StepTimeModel& model = ledger.model;
  out << "fitted to " << counted(ledger.steps_fitted, "step") << ":\n";
  for (std::size_t i = 0; i < model.us.size(); ++i) {
    const bool is_far = static_cast<StepTerm>(i) == StepTerm::far_key;
    if (!model.fitted[i] || (is_far && model.us[i] == 0)) continue;
    out << "  " << std::left << std::setw(13) << kNames<StepTerm>[i] << std::right << std::setw(9)
        << fixed(model.us[i], 4) << " us";
    if (is_far) out << " more for each decode_key beyond " << model.near_keys << " of a step";
    out << '\n';
  }
}

void print_summary(const Ledger& ledger, std::ostream& out) {
  std::array<std::size_t, Names<ErrorVerdict>::kCount> counts{};
  const LedgerRow* worst = nullptr;
  const LedgerRun* worst_run = nullptr;
  for (const LedgerRun& run : ledger.held_back) {
    for (const LedgerRow& row : run.rows) {
      if (!row.has_goal) continue;
      ++counts[static_cast<std::size_t>(*row.verdict())];
      if (worst != nullptr && worst->error >= row.error) continue;
      worst = &row;
      worst_run = &run;
    }
  }
  const auto count = [&](ErrorVerdict verdict) {
    return counts[static_cast<std::size_t>(verdict)];
  };
  out << "\nheld back, at p50: " << count(ErrorVerdict::noise) << " noise, "
      << count(ErrorVerdict::kept) << " kept the goal of " << fixed(100 * kErrorGoal, 0) << "%, "
      << count(ErrorVerdict::missed) << " missed it; the largest error is "
      << in_percent(worst->error) << " (" << worst_run->workload.name << ", " << worst->name
      << ")\n";
}

nlohmann::json row_json(const LedgerRow& row) {
  nlohmann::json json = {{"name", row.name}};
  if (row.steps > 0) json["steps"] = row.steps;
  json["measured_us"] = row.measured_us;
  json["predicted_us"] = row.predicted_us;
  json["error"] = row.error;
  if (row.steps > 0) json["error_p95"] = row.error_p95;
  if (row.spread) json["spread"] = *row.spread;
  if (row.has_goal || row.verdict()) json["verdict"] = verdict_text(row);
  return json;
}

nlohmann::json run_json(const LedgerRun& run, bool held_back) {
  nlohmann::json rows = nlohmann::json::array();
  for (const LedgerRow& row : run.rows) rows.push_back(row_json(row));
  nlohmann::json json = to_json(run.workload);
  json.update({{"held_back", held_back}, {"repeats", run.repeats}, {"rows", std::move(rows)}});
  return json;
}

}  // namespace

void print(const Ledger& ledger, std::ostream& out) {
  const RecordedTarget& target = ledger.target;
  out << target.kind << ": " << target.device
      << (target.instructions.empty() ? "" : ", " + target.instructions) << ", "
      << counted(static_cast<std::size_t>(target.threads), "thread") << "; " << target.model
      << ", KV of " << target.kv << ", " << target.numerics << " numerics\n";
  print_model(ledger, out);
  for (const LedgerRun& run : ledger.fitted) print_run(run, "fitted", out);
  for (const LedgerRun& run : ledger.held_back) print_run(run, "held back", out);
  print_summary(ledger, out);
}

nlohmann::json to_json(const Ledger& ledger) {
  nlohmann::json runs = nlohmann::json::array();
  for (const LedgerRun& run : ledger.fitted) runs.push_back(run_json(run, false));
  for (const LedgerRun& run : ledger.held_back) runs.push_back(run_json(run, true));
  return {{"target", to_json(ledger.target)},
          {"model", to_json(ledger.model)},
          {"goal", kErrorGoal},
          {"runs", std::move(runs)}};
}

nlohmann::ordered_json model_json(const Ledger& ledger) {
  nlohmann::ordered_json json = {{"forge_step_time_model", 1}};
  json.update(to_json(ledger.target));
  json.update(to_json(ledger.model));
  return json;
}

}  // namespace forge::apps
