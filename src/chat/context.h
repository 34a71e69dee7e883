// JSON to values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "value.h"

namespace forge::chat::detail {

/// Errors (raised): `json` nests too deeply, has an integer beyond 64 bits with a sign, or needs
/// more than `budget` has.
Value value_of(Budget& budget, const nlohmann::ordered_json& json);

}  // namespace forge::chat::detail
