#include "trace_file.h"

#include <filesystem>
#include <iostream>

namespace forge::apps {

int unusable(const std::string& message) {
  std::cerr << "forge-trace: " << message << '\n';
  return kUnusable;
}

tl::expected<void, std::string> InputTrace::open_file() {
  for (const std::string& path : argument_.paths) {
    std::error_code ignored;
    std::ifstream& file = files_.emplace_back(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, ignored)) {
      return tl::unexpected(path + ": cannot be read");
    }
  }
  stream_ = &files_.back();
  if (argument_.truncated) {
    if (auto opened = open_whole_lines(files_.back()); !opened) return opened;
  }
  if (files_.size() == 1) return {};
  std::vector<std::streambuf*> parts;
  parts.reserve(files_.size());
  for (std::ifstream& file : files_) parts.push_back(file.rdbuf());
  parts.back() = stream_->rdbuf();
  joined_ = trace::JoinedFiles::open(parts);
  if (!joined_) {
    return tl::unexpected(path() + " and those after it: several are read as files alone");
  }
  stream_ = &joined_->stream();
  return {};
}

tl::expected<void, std::string> InputTrace::open_whole_lines(std::ifstream& last) {
  const std::string& path = argument_.paths.back();
  auto whole = trace::WholeLines::open(*last.rdbuf());
  if (!whole) {
    return tl::unexpected(path + ": --truncated needs a file, whose end can be looked at first");
  }
  if (whole->bytes() == 0) {  // there is no header, and its reader says so
    last.seekg(0);
    return {};
  }
  if (whole->bytes_left_out() > 0) {
    std::cerr << "forge-trace: " << path << ": the last " << whole->bytes_left_out()
              << " bytes are no whole line and are left out\n";
  }
  whole_ = std::move(whole);
  stream_ = &whole_->stream();
  return {};
}

tl::expected<void, std::string> InputTrace::open() {
  if (auto opened = open_file(); !opened) return opened;
  auto found = trace::TraceReader::open(stream());
  if (!found) return tl::unexpected(error(found.error()));
  reader_ = *std::move(found);
  return {};
}

std::string InputTrace::error(const trace::TraceError& error) const {
  if (!joined_) return path() + ": " + to_string(error);
  return argument_.paths[joined_->file_of(error.byte)] + ": " + to_string(error) +
         " (counted from the first file on)";
}

}  // namespace forge::apps
