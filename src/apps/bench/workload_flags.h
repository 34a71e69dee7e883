// The command line of what runs: recorded requests, and the clock on which they arrive.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "arrivals.h"
#include "workload.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

inline constexpr std::size_t kRequestsMax = std::size_t{1} << 24;

/// Adds --workload; `more` is what its help ends with.
void add_workload_file(CLI::App& app, std::string& file, const std::string& more);

/// Adds --step-us and --token-us.
void add_virtual_clock(CLI::App& app, VirtualClock& clock);

/// The first requests of the file. Errors: those of read_workload(), and that the file cannot be
/// read.
tl::expected<Workload, std::string> open_workload(const std::string& file, std::size_t limit);

}  // namespace forge::apps
