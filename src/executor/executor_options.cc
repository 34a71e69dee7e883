#include "forge/executor/executor_options.h"

namespace forge::executor {

tl::expected<void, ConfigError> validate(const ExecutorOptions& options, int layers) {
  if (auto valid = forge::validate(options.cache, options.batch); !valid) return valid;
  return forge::validate({{"drafts", options.drafts, ExecutorOptions::kDrafts},
                          {"draft_layers", options.draft_layers, {1, layers}}});
}

}  // namespace forge::executor
