// What --version says: which build this is, and what it can do.
#pragma once

#include <string>

namespace forge::apps {

/// "forge-infer 0.1.0 (GNU 12.2.0, Release; targets cpu, sim, cuda, null)".
std::string version_text(const std::string& program);

}  // namespace forge::apps
