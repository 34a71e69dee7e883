#include "bench_report.h"

#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "forge/trace/trace_json.h"

namespace forge::apps {
namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 1) + "%";
}

std::string text_of(const Percentiles& us) { return fixed(us.p50, 0) + "/" + fixed(us.p95, 0); }

constexpr std::size_t kColumns = 11;
using Row = std::array<std::string, kColumns>;
const Row kTitles{"mode",  "requests", "refused",   "prompt",         "cached",  "generated",
                  "tok/s", "steps",    "preempted", "ITL us p50/p95", "accepted"};
constexpr std::array<int, kColumns> kWidths{11, 8, 7, 8, 6, 9, 9, 8, 9, 15, 8};

Row row_of(const ModeResult& r) {
  return {std::string(name_of(r.mode)) + (r.interrupted ? "*" : ""),
          std::to_string(r.finished),
          std::to_string(r.refused),
          std::to_string(r.prompt_tokens),
          percent(r.prefix_cache.hit_tokens, r.prefix_cache.query_tokens),
          std::to_string(r.generated_tokens),
          fixed(r.tokens_per_second(), 0),
          std::to_string(r.steps),
          std::to_string(r.preemptions),
          text_of(r.itl_us),
          percent(r.drafts.accepted, r.drafts.proposed)};
}

void print(const Row& row, std::ostream& out) {
  for (std::size_t i = 0; i < kColumns; ++i) {
    out << (i == 0 ? "" : "  ") << (i == 0 ? std::left : std::right) << std::setw(kWidths[i])
        << row[i];
  }
  out << '\n';
}

void print(const Prediction& p, const ModeResult& r, std::ostream& out) {
  out << "  on " << p.device << ", " << (p.calibrated ? "calibrated" : "uncalibrated")
      << ": us p50/p95 of a step " << text_of(p.step_us) << ", TTFT " << text_of(p.ttft_us)
      << ", ITL " << text_of(p.itl_us) << ", " << fixed(r.virtual_tokens_per_second(), 0)
      << " tok/s\n";
}

nlohmann::json to_json(const Prediction& p, const ModeResult& r) {
  nlohmann::json kernels = nlohmann::json::object();
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    if (p.kernels[i].launches == 0) continue;
    kernels[std::string(gpu::kKernelNames[i])] = {{"launches", p.kernels[i].launches},
                                                  {"us", p.kernels[i].us}};
  }
  return {{"device", p.device},
          {"calibrated", p.calibrated},
          {"step_us", to_json(p.step_us)},
          {"ttft_us", to_json(p.ttft_us)},
          {"itl_us", to_json(p.itl_us)},
          {"tpot_us", to_json(p.tpot_us)},
          {"tokens_per_second", r.virtual_tokens_per_second()},
          {"busy_seconds", p.busy_us / 1e6},
          {"kernels", kernels}};
}

nlohmann::json to_json(const ModeResult& r) {
  nlohmann::json json = {{"mode", name_of(r.mode)},
                         {"requests", r.finished},
                         {"refused", r.refused},
                         {"prompt_tokens", r.prompt_tokens},
                         {"generated_tokens", r.generated_tokens},
                         {"tokens_per_second", r.tokens_per_second()},
                         {"seconds", r.seconds},
                         {"virtual_seconds", r.virtual_seconds},
                         {"steps", r.steps},
                         {"preemptions", r.preemptions},
                         {"prefix_cache", apps::to_json(r.prefix_cache)},
                         {"itl_p50_us", r.itl_us.p50},
                         {"itl_p95_us", r.itl_us.p95},
                         {"draft_source", r.draft_source},
                         {"drafts_proposed", r.drafts.proposed},
                         {"drafts_accepted", r.drafts.accepted},
                         {"digest", trace::digest_text(r.digest)},
                         {"interrupted", r.interrupted}};
  if (r.predicted) json["predicted"] = to_json(*r.predicted, r);
  return json;
}

}  // namespace

nlohmann::json to_json(const Percentiles& us) { return {{"p50", us.p50}, {"p95", us.p95}}; }

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

nlohmann::json to_json(const PrefixCacheStatistics& s) {
  return {{"queries", s.queries},
          {"hits", s.hits},
          {"query_tokens", s.query_tokens},
          {"hit_tokens", s.hit_tokens},
          {"recovered_tokens", s.recovered_tokens},
          {"evictions", s.evictions}};
}

void print_table(std::span<const ModeResult> results, std::ostream& out) {
  print(kTitles, out);
  for (const ModeResult& r : results) print(row_of(r), out);
  for (const ModeResult& r : results) {
    if (r.interrupted) out << "* " << name_of(r.mode) << " was interrupted\n";
    if (r.refused > 0) {
      out << name_of(r.mode) << ": " << r.refused
          << " requests refused, prompt plus new tokens exceed the KV cache\n";
    }
  }
  for (const ModeResult& r : results) {
    out << std::left << std::setw(kWidths[0]) << name_of(r.mode) << "  digest "
        << trace::digest_text(r.digest) << "  " << fixed(r.seconds, 2) << " s, "
        << fixed(r.virtual_seconds, 2) << " s on the " << (r.predicted ? "device's" : "virtual")
        << " clock\n";
    if (r.drafts.proposed > 0) {
      out << "  drafts of " << r.draft_source << ": " << r.drafts.proposed << " proposed, "
          << r.drafts.accepted << " accepted\n";
    }
    if (r.predicted) print(*r.predicted, r, out);
  }
}

std::string first_disagreement(std::span<const ModeResult> results) {
  const ModeResult* first = nullptr;
  for (const ModeResult& r : results) {
    if (r.interrupted) continue;
    if (first == nullptr) {
      first = &r;
      continue;
    }
    for (std::size_t i = 0; i < r.token_digests.size(); ++i) {
      if (r.token_digests[i] != first->token_digests[i]) {
        return "request " + std::to_string(i) + " has other tokens in mode " +
               std::string(name_of(r.mode)) + " than in mode " + std::string(name_of(first->mode));
      }
    }
  }
  return {};
}

nlohmann::json to_json(std::span<const ModeResult> results) {
  nlohmann::json runs = nlohmann::json::array();
  for (const ModeResult& r : results) runs.push_back(to_json(r));
  return {{"runs", runs}};
}

}  // namespace forge::apps
