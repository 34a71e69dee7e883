#include "forge/executor/executor_options.h"

#include <string>

namespace forge::executor {

std::string to_string(const OptionError& e) {
  return e.field + " is " + e.value + ", accepted: " + e.accepted;
}

tl::expected<void, OptionError> validate(const ExecutorOptions& options, int layers) {
  struct Field {
    const char* name;
    std::int64_t value;
    std::int64_t lowest;
    std::int64_t highest;
  };
  const Field fields[] = {
      {"num_blocks", options.num_blocks, 1, 1 << 24},
      {"block_size", options.block_size, 1, 65536},
      {"num_host_blocks", options.num_host_blocks, 0, 1 << 24},
      {"drafts", options.drafts, 0, 64},
      {"draft_layers", options.draft_layers, 1, layers},
  };
  for (const Field& field : fields) {
    if (field.value < field.lowest || field.value > field.highest) {
      return tl::unexpected(
          OptionError{field.name, std::to_string(field.value),
                      std::to_string(field.lowest) + " .. " + std::to_string(field.highest)});
    }
  }
  return {};
}

}  // namespace forge::executor
