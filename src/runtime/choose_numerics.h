// Which numerics a run has, and which type of KV goes with them.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "forge/runtime/loaded_model.h"
#include "forge/runtime/target_options.h"

namespace forge::runtime {

/// Makes of automatic numerics what they become (RunNumerics), and sets the type of KV that goes
/// with them where none was asked for. Errors: those of validate_numerics(); fast numerics that the
/// model or its draft do not have, and why; fast with KV of f32.
tl::expected<void, std::string> choose_numerics(TargetOptions& options, const LoadedModel& model);

}  // namespace forge::runtime
