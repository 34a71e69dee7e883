// What a LoadRun came to: rates, times, and how many requests were served well enough.
//
//   TTFT   time to first token: from the moment a request was due
//   TPOT   time per output token: of a request, from its first event to its last, per token after
//          the first
//   ITL    inter-token latency: between two events of a request
//   E2EL   end-to-end latency: from the moment a request was due to its last event
//
// Goodput is the rate of complete requests that keep every limit (Zhong et al., "DistServe", OSDI
// 2024). Names in JSON are those of `vllm bench serve`.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "load_flags.h"
#include "load_run.h"

namespace forge::apps {

struct LoadTimes {
  double mean = 0;  ///< all in milliseconds
  double p50 = 0;   ///< by nearest rank
  double p90 = 0;
  double p99 = 0;
};
/// Zeros if there are no values. Reorders them.
LoadTimes times_of(std::vector<float>& ms);

struct LoadReport {
  std::size_t completed = 0;
  std::size_t failed = 0;
  std::size_t good = 0;             ///< complete, within all limits
  std::uint64_t prompt_tokens = 0;  ///< of complete requests
  std::uint64_t output_tokens = 0;  ///< likewise
  double seconds = 0;
  std::array<LoadTimes, Names<LoadTime>::kCount> times;  ///< [LoadTime]
  std::vector<std::string> errors;                       ///< the first few, each once
};
LoadReport report_of(const LoadResult& result, const std::vector<LoadLimit>& limits);

void print(const LoadReport& report, const LoadFlags& flags, const LoadResult& result,
           std::ostream& out);

nlohmann::json to_json(const LoadReport& report, const LoadFlags& flags, const LoadResult& result);

}  // namespace forge::apps
