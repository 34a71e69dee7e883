// forge-trace verify: did a server compute the answer that a receipt is of?
#pragma once

#include <string>

#include "forge/runtime/target_options.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct VerifyOptions {
  std::string path;  ///< of the receipt, or of the answer that has it
  runtime::TargetOptions target;
};

void add_verify_options(CLI::App& verify, VerifyOptions& options);

/// `flags` are those that were given. Returns an exit status (trace_file.h).
int run_verify(const CLI::App& flags, VerifyOptions options);

}  // namespace forge::apps
