// What forge-bench says about a run of the policy alone.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "policy_run.h"

namespace forge::apps {

/// One line a subject.
void print(const PolicyResult& result, std::ostream& out);

/// One object; {"target":"null","steps":...,"preemptions":...,"ns_per_scheduled_sequence":...,
/// "prefix_cache":{"query_tokens":...,"hit_tokens":...,...},...}
nlohmann::json to_json(const PolicyResult& result);

}  // namespace forge::apps
