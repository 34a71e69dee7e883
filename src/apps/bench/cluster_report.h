// What forge-bench cluster says about its runs.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "cluster.h"

namespace forge::apps {

/// One row a rule.
void print_table(std::span<const ClusterResult> results, std::ostream& out);

/// {"runs":[{"rule":"turn","requests":...,"ttft_us":{"p50":...,"p95":...},"digest":"..."}, ...]}
nlohmann::json to_json(std::span<const ClusterResult> results);

}  // namespace forge::apps
