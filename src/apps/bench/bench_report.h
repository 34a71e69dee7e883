// What forge-bench says about its runs.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bench_run.h"

namespace forge::apps {

/// One row a mode, then the run digests and what is predicted for a simulated device.
void print_table(std::span<const ModeResult> results, std::ostream& out);

/// The first request whose tokens differ between two complete runs, as a sentence; empty if the
/// runs agree. Interrupted runs are not compared.
std::string first_disagreement(std::span<const ModeResult> results);

/// {"p50":...,"p95":...}
nlohmann::json to_json(const Percentiles& us);

/// The members of the statistics by name.
nlohmann::json to_json(const PrefixCacheStatistics& statistics);

/// `value` with `digits` digits behind the point.
std::string fixed(double value, int digits);

/// {"runs":[{"mode":"continuous","tokens_per_second":...,"digest":"..."}, ...]}; of a simulated
/// device each run has
/// {"predicted":{"device":...,"calibrated":false,"step_us":{"p50":...,"p95":...},...}}.
nlohmann::json to_json(std::span<const ModeResult> results);

}  // namespace forge::apps
