// The command line of forge-bench --url: what to ask, how, and how well it should be answered.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/names.h"
#include "load_run.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

/// What is measured of a request (load_report.h).
enum class LoadTime : std::uint8_t { ttft, tpot, itl, e2el };
constexpr Names<LoadTime> names_of(LoadTime) { return {"ttft", "tpot", "itl", "e2el"}; }

/// Of one request: ttft, tpot or e2el is at most so much.
struct LoadLimit {
  LoadTime time = LoadTime::ttft;
  double ms = 0;

  friend bool operator==(const LoadLimit&, const LoadLimit&) = default;
};
/// Of "ttft:500". Errors: a sentence that names the text and what is accepted.
tl::expected<LoadLimit, std::string> parse_limit(const std::string& text);

struct LoadFlags {
  bool is_on = false;  ///< --url is given
  LoadOptions options;
  std::vector<LoadLimit> limits;
};

/// `flags` must live until the command line has been parsed.
void add_load_flags(CLI::App& app, LoadFlags& flags);

/// What does not go together. Returns: an empty text, or what is wrong.
std::string load_fault(const CLI::App& app, const LoadFlags& flags);

}  // namespace forge::apps
