// The fields in which a model that was read again differs from the one that was written: what a
// format has no words for must not be lost without one.
//
// Pure, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "forge/model/model_config.h"

namespace forge::checkpoint::detail {

/// "experts.routed_scale is 2 and would be read as 1", semicolons between several; none where the
/// models are equal. Fractions are equal if they differ by at most `rounding` of their size.
std::optional<std::string> difference(const model::ModelConfig& written,
                                      const model::ModelConfig& read, double rounding = 0);

}  // namespace forge::checkpoint::detail
