// What a request is told that the target could not run to its end.
#pragma once

#include <string>

#include "forge/engine/engine_loop.h"

namespace forge::engine {

std::string failed_text(const std::string& reason);

/// Of a slice whose logits are not: those of its last token that is no draft.
std::string not_finite_text(const Slice& slice);

/// Of a slice that has no token by the grammar of its request.
std::string no_token_text(const Slice& slice, FinishSignal signal);

}  // namespace forge::engine
