#include "forge/trace/trace_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace forge::trace {
namespace {

constexpr std::size_t kDigits = 6;

std::string numbered(const std::filesystem::path& path, std::uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  const std::string name = path.stem().string() + "." + digits + path.extension().string();
  return (path.parent_path() / name).string();
}

/// The number in a name that numbered() makes of `path`; 0 in others.
std::uint64_t number_in(const std::string& name, const std::filesystem::path& path) {
  const std::string before = path.stem().string() + ".";
  const std::string after = path.extension().string();
  if (name.size() < before.size() + kDigits + after.size() || !name.starts_with(before) ||
      !name.ends_with(after)) {
    return 0;
  }
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size() - after.size();
  const auto read = std::from_chars(name.data() + before.size(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : 0;
}

/// The highest number of a file that is there already.
std::uint64_t highest_number(const std::filesystem::path& path) {
  std::uint64_t highest = 0;
  std::error_code error;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    highest = std::max(highest, number_in(entry->path().filename().string(), path));
  }
  return highest;
}

}  // namespace

TraceFiles::TraceFiles(std::string path, const TraceLimits& limits, TraceFile::OnFailure on_failure)
    : path_(std::move(path)), limits_(limits), on_failure_(std::move(on_failure)) {}

TraceFiles::~TraceFiles() = default;

tl::expected<std::unique_ptr<TraceFiles>, std::string> TraceFiles::create(
    const std::string& path, const TraceLimits& limits, TraceFile::OnFailure on_failure) {
  std::unique_ptr<TraceFiles> files(new TraceFiles(path, limits, std::move(on_failure)));
  files->number_ = files->has_next() ? highest_number(path) : 0;
  auto opened = files->has_next() ? files->open_next_number() : files->open(path);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  return files;
}

/// Another program may take a number first.
tl::expected<void, std::string> TraceFiles::open_next_number() {
  std::string path;
  struct stat about = {};
  do {
    path = numbered(path_, ++number_);
  } while (::lstat(path.c_str(), &about) == 0);
  return open(path);
}

tl::expected<void, std::string> TraceFiles::open(const std::string& path) {
  auto file = TraceFile::create(path, on_failure_);
  if (!file) return tl::unexpected(std::move(file.error()));
  file_ = *std::move(file);
  struct stat about = {};
  static_cast<void>(::stat(path.c_str(), &about));
  parts_.push_back({path, about.st_dev, about.st_ino, 0});
  lines_ = 0;
  return {};
}

TraceOutput::Written TraceFiles::write(std::string_view line) {
  if (limits_.total_bytes > 0 && kept_bytes_ + line.size() > limits_.total_bytes) {
    if (auto flushed = file_->flush(); !flushed) return flushed;
    return fail("its files have reached their limit of " + std::to_string(limits_.total_bytes) +
                " bytes together");
  }
  parts_.back().bytes += line.size();
  kept_bytes_ += line.size();
  // The first two lines are the header and, but in the first file, the snapshot.
  if (++lines_ <= 2) start_bytes_ = parts_.back().bytes;
  return file_->write(line);
}

TraceOutput::Written TraceFiles::flush() { return file_->flush(); }

bool TraceFiles::is_full() const {
  const std::uint64_t bytes = parts_.back().bytes;
  return has_next() && bytes >= limits_.file_bytes && bytes >= 2 * start_bytes_;
}

TraceOutput::Written TraceFiles::next() {
  if (auto flushed = file_->flush(); !flushed) return flushed;
  if (auto opened = open_next_number(); !opened) return fail(std::move(opened.error()));
  while (limits_.keep > 0 && parts_.size() > limits_.keep) remove_oldest();
  return {};
}

/// If somebody has put another file in its place, that one stays.
void TraceFiles::remove_oldest() {
  const Part& oldest = parts_.front();
  struct stat about = {};
  if (::lstat(oldest.path.c_str(), &about) == 0 && about.st_dev == oldest.device &&
      about.st_ino == oldest.inode) {
    std::error_code ignored;
    std::filesystem::remove(oldest.path, ignored);
  }
  kept_bytes_ -= oldest.bytes;
  parts_.pop_front();
}

TraceOutput::Written TraceFiles::fail(std::string reason) {
  if (on_failure_) on_failure_(reason);
  return tl::unexpected(std::move(reason));
}

}  // namespace forge::trace
