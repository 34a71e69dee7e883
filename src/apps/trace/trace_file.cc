#include "trace_file.h"

#include <filesystem>
#include <iostream>

namespace forge::apps {

int unusable(const std::string& message) {
  std::cerr << "forge-trace: " << message << '\n';
  return kUnusable;
}

tl::expected<void, std::string> InputTrace::open_file() {
  std::error_code ignored;
  file_.open(path(), std::ios::binary);
  if (!file_ || std::filesystem::is_directory(path(), ignored)) {
    return tl::unexpected(path() + ": cannot be read");
  }
  if (!argument_.truncated) return {};
  auto whole = trace::WholeLines::open(*file_.rdbuf());
  if (!whole) {
    return tl::unexpected(path() + ": --truncated needs a file, whose end can be looked at first");
  }
  if (whole->bytes() > 0) {  // else there is no header, and its reader says so
    if (whole->bytes_left_out() > 0) {
      std::cerr << "forge-trace: " << path() << ": the last " << whole->bytes_left_out()
                << " bytes are no whole line and are left out\n";
    }
    whole_ = std::move(whole);
  } else {
    file_.seekg(0);
  }
  return {};
}

tl::expected<void, std::string> InputTrace::open() {
  if (auto opened = open_file(); !opened) return opened;
  auto found = trace::TraceReader::open(stream());
  if (!found) return tl::unexpected(error(found.error()));
  reader_ = *std::move(found);
  return {};
}

}  // namespace forge::apps
