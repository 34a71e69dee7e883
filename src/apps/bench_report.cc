#include "bench_report.h"

#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "forge/trace/trace_json.h"

namespace forge {
namespace {

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

std::string acceptance_of(const ModeResult& r) {
  if (r.drafts_proposed == 0) return "-";
  return fixed(100.0 * static_cast<double>(r.drafts_accepted) /
                   static_cast<double>(r.drafts_proposed),
               1) +
         "%";
}

constexpr std::size_t kColumns = 10;
using Row = std::array<std::string, kColumns>;
const Row kTitles{"mode",  "requests", "refused",   "prompt",         "generated",
                  "tok/s", "steps",    "preempted", "ITL us p50/p95", "accepted"};
constexpr std::array<int, kColumns> kWidths{11, 8, 7, 8, 9, 9, 8, 9, 15, 8};

Row row_of(const ModeResult& r) {
  return {std::string(name(r.mode)) + (r.interrupted ? "*" : ""),
          std::to_string(r.finished),
          std::to_string(r.refused),
          std::to_string(r.prompt_tokens),
          std::to_string(r.generated_tokens),
          fixed(r.tokens_per_second(), 0),
          std::to_string(r.steps),
          std::to_string(r.preemptions),
          fixed(r.itl_p50_us, 0) + "/" + fixed(r.itl_p95_us, 0),
          acceptance_of(r)};
}

void print(const Row& row, std::ostream& out) {
  for (std::size_t i = 0; i < kColumns; ++i) {
    out << (i == 0 ? "" : "  ") << (i == 0 ? std::left : std::right) << std::setw(kWidths[i])
        << row[i];
  }
  out << '\n';
}

}  // namespace

void print_table(std::span<const ModeResult> results, std::ostream& out) {
  print(kTitles, out);
  for (const ModeResult& r : results) print(row_of(r), out);
  for (const ModeResult& r : results) {
    if (r.interrupted) out << "* " << name(r.mode) << " was interrupted\n";
    if (r.refused > 0) {
      out << name(r.mode) << ": " << r.refused
          << " requests refused, prompt plus new tokens exceed the KV cache\n";
    }
  }
  for (const ModeResult& r : results) {
    out << std::left << std::setw(kWidths[0]) << name(r.mode) << "  digest "
        << digest_text(r.digest) << "  " << fixed(r.seconds, 2) << " s, "
        << fixed(r.virtual_seconds, 2) << " s on the virtual clock\n";
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
               std::string(name(r.mode)) + " than in mode " + std::string(name(first->mode));
      }
    }
  }
  return {};
}

nlohmann::json to_json(std::span<const ModeResult> results) {
  nlohmann::json runs = nlohmann::json::array();
  for (const ModeResult& r : results) {
    runs.push_back({{"mode", name(r.mode)},
                    {"requests", r.finished},
                    {"refused", r.refused},
                    {"prompt_tokens", r.prompt_tokens},
                    {"generated_tokens", r.generated_tokens},
                    {"tokens_per_second", r.tokens_per_second()},
                    {"seconds", r.seconds},
                    {"virtual_seconds", r.virtual_seconds},
                    {"steps", r.steps},
                    {"preemptions", r.preemptions},
                    {"itl_p50_us", r.itl_p50_us},
                    {"itl_p95_us", r.itl_p95_us},
                    {"drafts_proposed", r.drafts_proposed},
                    {"drafts_accepted", r.drafts_accepted},
                    {"digest", digest_text(r.digest)},
                    {"interrupted", r.interrupted}});
  }
  return {{"runs", runs}};
}

}  // namespace forge
