// What every run of forge-bench ends with: a file of results, or a sentence that says why not.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace forge::apps {

/// Says `message` on the standard error. Returns: 2.
int bench_failure(const std::string& message);

/// Writes the results where --json says, if it does. Returns: 0, or an exit status.
int save_results(const nlohmann::json& results, const std::string& path);

}  // namespace forge::apps
