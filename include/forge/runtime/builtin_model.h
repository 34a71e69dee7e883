// The name of the built-in model, as --model and --draft take it:
//
//   forge-tiny                         its usual shape, seed 1
//   forge-tiny:seed=7,layers=2         other values of TinyConfig, in any order
//
// A file of such a name is still reached by a path with a slash in it.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/reference/tiny_config.h"

namespace forge::runtime {

inline constexpr std::string_view kBuiltinModel = "forge-tiny";

/// "forge-tiny", or that and a colon with anything behind it.
bool is_builtin(std::string_view model);

/// Heads have the size hidden_size / heads. Errors: the key or value that is not accepted, and what
/// is accepted. Requires: is_builtin(model).
tl::expected<reference::TinyConfig, std::string> parse_builtin(std::string_view model);

}  // namespace forge::runtime
