// The flags of those who follow the cache (kv_events).
#pragma once

#include <string>

#include "infer_options.h"

namespace forge::apps {

/// `options` must live until the command line has been parsed.
void add_kv_events(CLI::App& app, kv_events::KvEventOptions& options);

/// Returns: what is wrong with them; nothing if all is well.
std::string kv_events_fault(const CLI::App& app, const InferOptions& options);

}  // namespace forge::apps
