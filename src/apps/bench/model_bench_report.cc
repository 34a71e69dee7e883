#include "model_bench_report.h"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench_report.h"
#include "forge/runtime/kv_memory.h"

namespace forge::apps {
namespace {

std::string percent(const std::optional<double>& ratio) {
  return ratio ? fixed(*ratio * 100, 1) + "%" : "-";
}

nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json to_json(const ModelBenchCase& done) {
  return {{"name", done.name},
          {"rows", done.rows},
          {"tokens_per_second", done.tokens_per_second()},
          {"pass_ms", done.seconds * 1e3},
          {"best_pass_ms", done.best_seconds * 1e3},
          {"of_peak", or_null(done.of_peak)},
          {"of_read_rate", or_null(done.of_read_rate)}};
}

}  // namespace

void print_table(const ModelBenchResult& r, std::ostream& out) {
  out << r.model << ": " << runtime::bytes_text(r.weight_bytes) << " of weights, " << r.threads
      << " threads, " << r.instructions << ", loaded in " << fixed(r.load_seconds, 2) << " s ("
      << fixed(static_cast<double>(r.weight_bytes) / r.load_seconds / 1e9, 1) << " GB/s)\n"
      << "machine: reads " << fixed(r.read_bytes_per_s / 1e9, 1) << " GB/s";
  if (r.peak_op_per_s) out << ", computes " << fixed(*r.peak_op_per_s / 1e9, 0) << " Gop/s";
  out << "\n\n"
      << std::left << std::setw(12) << "pass" << std::right << std::setw(10) << "tok/s"
      << std::setw(12) << "ms" << std::setw(10) << "of peak" << std::setw(14) << "of bandwidth"
      << '\n';
  for (const ModelBenchCase& done : r.cases) {
    out << std::left << std::setw(12) << done.name << std::right << std::setw(10)
        << fixed(done.tokens_per_second(), 1) << std::setw(12) << fixed(done.seconds * 1e3, 2)
        << std::setw(10) << percent(done.of_peak) << std::setw(14) << percent(done.of_read_rate)
        << '\n';
  }
  out << "decode N: a token of each of N sequences, after " << r.context_tokens << " tokens\n";
  if (r.interrupted) out << "interrupted\n";
  for (const NamedProfile& named : r.profiles) print_profile(named, out);
}

nlohmann::json to_json(const ModelBenchResult& r) {
  nlohmann::json cases = nlohmann::json::array();
  for (const ModelBenchCase& done : r.cases) cases.push_back(to_json(done));
  nlohmann::json profiles = nlohmann::json::array();
  for (const NamedProfile& named : r.profiles) profiles.push_back(to_json(named));
  return {{"model", r.model},
          {"instructions", r.instructions},
          {"threads", r.threads},
          {"weight_bytes", r.weight_bytes},
          {"load_seconds", r.load_seconds},
          {"prompt_tokens", r.prompt_tokens},
          {"context_tokens", r.context_tokens},
          {"kv", name_of(r.kv_type)},
          {"read_bytes_per_second", r.read_bytes_per_s},
          {"peak_op_per_second", or_null(r.peak_op_per_s)},
          {"cases", cases},
          {"profiles", profiles},
          {"interrupted", r.interrupted}};
}

}  // namespace forge::apps
