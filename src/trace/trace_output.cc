#include "forge/trace/trace_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <system_error>
#include <utility>

namespace forge::trace {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace

TraceOutput::Written TraceStream::write(std::string_view line) {
  if (out_.write(line.data(), static_cast<std::streamsize>(line.size()))) return {};
  return tl::unexpected(std::string("the stream takes no more"));
}

TraceOutput::Written TraceStream::flush() {
  if (out_.flush()) return {};
  return tl::unexpected(std::string("the stream cannot be flushed"));
}

tl::expected<std::unique_ptr<TraceFile>, std::string> TraceFile::create(const std::string& path,
                                                                        OnFailure on_failure) {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  constexpr mode_t kOwnersAlone = 0600;  // it has what was asked and answered
  int file = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, kOwnersAlone);
  if (file < 0 && errno == EEXIST) file = ::open(path.c_str(), kFlags);
  if (file < 0) return tl::unexpected("cannot write '" + path + "': " + reason_of(errno));
  std::unique_ptr<TraceFile> trace(new TraceFile(file, std::move(on_failure)));
  if (auto taken = trace->take(path); !taken) return tl::unexpected(taken.error());
  return trace;
}

TraceFile::~TraceFile() { ::close(file_); }

/// Is the file ours to write to? The lock is there before anybody asks whether the file is empty,
/// so that of two programs that find it empty only one gets it.
tl::expected<void, std::string> TraceFile::take(const std::string& path) {
  struct stat about = {};
  if (::fstat(file_, &about) != 0) {
    return tl::unexpected("cannot write '" + path + "': " + reason_of(errno));
  }
  if (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode)) return {};
  if (!S_ISREG(about.st_mode)) {
    return tl::unexpected("'" + path +
                          "' is no place for a trace: accepted are a file that is "
                          "new or empty, a pipe and a character device");
  }
  is_regular_ = true;
  // File systems that have no locks answer something else.
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return tl::unexpected("another program is recording into '" + path + "': name another file");
  }
  if (::fstat(file_, &about) == 0 && about.st_size == 0) return {};
  return tl::unexpected("'" + path +
                        "' exists and is not overwritten: name another file or remove it");
}

TraceOutput::Written TraceFile::write(std::string_view line) {
  kept_ += line;
  return kept_.size() < kBufferBytes ? Written() : flush();
}

TraceOutput::Written TraceFile::flush() {
  for (std::size_t written = 0; written < kept_.size();) {
    const ssize_t count = ::write(file_, kept_.data() + written, kept_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(count < 0 ? errno : EIO, written);
    written += static_cast<std::size_t>(count);
  }
  bytes_whole_ += kept_.size();
  kept_.clear();
  return {};
}

/// `bytes_written` of kept_ are in the file.
TraceOutput::Written TraceFile::fail(int error, std::size_t bytes_written) {
  bytes_whole_ +=
      std::string_view(kept_).substr(0, bytes_written).rfind('\n') + 1;  // npos + 1 is 0
  kept_.clear();
  // If that fails, too, the file ends within a line, which readers can be told to leave out.
  if (is_regular_) static_cast<void>(::ftruncate(file_, static_cast<off_t>(bytes_whole_)) == 0);
  const std::string reason = reason_of(error);
  if (on_failure_) on_failure_(reason);
  return tl::unexpected(reason);
}

}  // namespace forge::trace
