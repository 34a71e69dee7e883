// The shapes of published models, as their config.json, that forge-model knows by name.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace forge::apps {

/// The text of a built-in shape ("tinyllama-1.1b") or of a file. Errors: it is neither; they list
/// the names.
tl::expected<std::string, std::string> shape_text(const std::string& name_or_path);

}  // namespace forge::apps
