#include "part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "forge/core/check.h"
#include "system_error.h"

namespace forge::formats::detail {
namespace {

constexpr std::size_t kGatheredBytesMax = std::size_t{1} << 20;

}  // namespace

PartFile::PartFile(std::string path) : path_(std::move(path)), part_path_(path_ + ".part") {}

PartFile::~PartFile() {
  close();
  if (is_created_ && !is_finished_) std::remove(part_path_.c_str());
}

tl::expected<void, FileError> PartFile::create() {
  FORGE_CHECK(!is_created_ && !error_, part_path_);
  constexpr int kReadableByAll = 0666;  // less what the umask takes away
  descriptor_ =
      ::open(part_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll);
  if (descriptor_ < 0) return failed("created");
  is_created_ = true;
  return {};
}

tl::expected<void, FileError> PartFile::write(std::span<const std::byte> bytes) {
  FORGE_CHECK(is_created_ && !is_finished_, part_path_);
  if (error_) return tl::unexpected(*error_);
  if (gathered_.size() + bytes.size() > kGatheredBytesMax) {
    if (auto written = write_through(gathered_); !written) return written;
    gathered_.clear();
  }
  if (bytes.size() > kGatheredBytesMax) return write_through(bytes);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  return {};
}

tl::expected<void, FileError> PartFile::finish() {
  FORGE_CHECK(is_created_ && !is_finished_, part_path_);
  if (error_) return tl::unexpected(*error_);
  if (auto written = write_through(gathered_); !written) return written;
  // Some file systems find out only here that the disk is full.
  if (::fsync(descriptor_) != 0) return failed("written");
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) return failed("written");
  if (std::rename(part_path_.c_str(), path_.c_str()) != 0) {
    return failed("renamed to '" + path_ + "'");
  }
  is_finished_ = true;
  return {};
}

tl::expected<void, FileError> PartFile::failed(const std::string& action) {
  error_ = system_error(part_path_, action, errno);
  return tl::unexpected(*error_);
}

tl::expected<void, FileError> PartFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("written");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

void PartFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace forge::formats::detail
