// What a ledger says, for people and for programs.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "ledger.h"

namespace forge::apps {

/// The target and the model, then a table for each run, then how many errors keep the goal.
void print(const Ledger& ledger, std::ostream& out);

/// {"target":{"target":"cpu",...},"model":{"us":{...},...},"goal":0.05,
///  "runs":[{"held_back":true,"workload":"chat.jsonl",...,"rows":[{"name":"decode",...}]}]}
nlohmann::json to_json(const Ledger& ledger);

/// The model with what it is of: {"forge_step_time_model":1,"target":"cpu",...,"us":{...},...}
nlohmann::ordered_json model_json(const Ledger& ledger);

}  // namespace forge::apps
