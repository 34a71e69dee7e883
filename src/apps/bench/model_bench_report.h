// What forge-bench says about the speed of a model.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "model_bench.h"

namespace forge::apps {

/// The marks, then one row a case.
void print_table(const ModelBenchResult& result, std::ostream& out);

/// The members of ModelBenchResult by name; null where there is no mark.
nlohmann::json to_json(const ModelBenchResult& result);

}  // namespace forge::apps
