// How many connections the system's limit of open files (ulimit -n) allows.
#pragma once

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

namespace forge::apps {

/// Raises this process's limit, as far as it may, to what `wanted` connections need. Returns: how
/// many of them then fit. Errors: none fits; a sentence that names the limit.
tl::expected<std::size_t, std::string> allow_connections(std::size_t wanted);

}  // namespace forge::apps
