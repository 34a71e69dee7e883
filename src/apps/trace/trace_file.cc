#include "trace_file.h"

#include <filesystem>
#include <iostream>

namespace forge {

int unusable(const std::string& message) {
  std::cerr << "forge-trace: " << message << '\n';
  return kUnusable;
}

tl::expected<void, std::string> InputTrace::open_file() {
  std::error_code ignored;
  file.open(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    return tl::unexpected(path + ": cannot be read");
  }
  return {};
}

tl::expected<void, std::string> InputTrace::open() {
  if (auto opened = open_file(); !opened) return opened;
  auto found = TraceReader::open(file);
  if (!found) return tl::unexpected(error(found.error()));
  reader = *std::move(found);
  return {};
}

}  // namespace forge
