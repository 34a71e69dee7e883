// The flags of what is recorded of a run.
#pragma once

#include <string>

#include "infer_options.h"

namespace forge::apps {

/// `options` must live until the command line has been parsed.
void add_trace(CLI::App& app, InferOptions& options);

/// Returns: what is wrong with them; nothing if all is well.
std::string trace_fault(const CLI::App& app, const InferOptions& options);

}  // namespace forge::apps
