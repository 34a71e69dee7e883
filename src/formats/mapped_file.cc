#include "forge/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/quoted.h"
#include "system_error.h"

namespace forge::formats {
namespace {

std::size_t page_bytes() {
  static const auto kBytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

/// Bytes begin .. end of a file that starts on a page.
struct Range {
  std::size_t begin;
  std::size_t end;
};

Range range_of(std::span<const std::byte> part, std::span<const std::byte> file) {
  if (part.empty()) return {0, 0};
  // As numbers: `part` may be of another file, and such pointers have no order.
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const auto start = reinterpret_cast<std::uintptr_t>(file.data());
  FORGE_CHECK(begin >= start && begin - start <= file.size() &&
                  part.size() <= file.size() - (begin - start),
              "part of ", part.size(), " bytes, file of ", file.size());
  return {begin - start, begin - start + part.size()};
}

/// Why `path` cannot be opened. A link to nothing looks like a file that is there to whoever lists
/// the folder, so it gets its own words.
FileError cannot_open(const std::string& path, int code) {
  std::error_code not_a_link;
  const std::filesystem::path target = std::filesystem::read_symlink(path, not_a_link);
  if (code != ENOENT || not_a_link) return detail::system_error(path, "opened", code);
  return {.file = path,
          .message = "is a link to " + in_quotes(target.string()) + ", where there is no file"};
}

/// Advice: the kernel may ignore it, so whatever it answers is fine.
void advise(std::span<const std::byte> file, Range pages, int advice) {
  if (pages.begin >= pages.end) return;
  auto* const first = const_cast<std::byte*>(file.data()) + pages.begin;
  static_cast<void>(::madvise(first, pages.end - pages.begin, advice));
}

}  // namespace

tl::expected<MappedFile, FileError> MappedFile::open(const std::string& path) {
  const auto failed = [&](const std::string& action) {
    return tl::unexpected(detail::system_error(path, action, errno));
  };
  MappedFile file;
  file.path_ = path;
  // Non-blocking, because opening a pipe would otherwise wait for its writer.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) return tl::unexpected(cannot_open(path, errno));
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) return failed("examined");
  if (!S_ISREG(status.st_mode)) {
    return tl::unexpected(FileError{.file = path, .message = "is not a regular file"});
  }
  if (status.st_size == 0) return file;  // mmap refuses lengths of 0
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (data == MAP_FAILED) return failed("mapped");
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  return file;
}

MappedFile MappedFile::unwritten(std::string path) {
  MappedFile file;
  file.path_ = std::move(path);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  MappedFile moved(std::move(other));
  std::swap(path_, moved.path_);
  std::swap(data_, moved.data_);
  std::swap(size_, moved.size_);
  std::swap(descriptor_, moved.descriptor_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

tl::expected<void, ReadFailure> MappedFile::read(std::span<const std::byte> part,
                                                 std::span<std::byte> to) const {
  FORGE_CHECK(part.size() == to.size(), "part of ", part.size(), " bytes, room for ", to.size());
  auto [at, end] = range_of(part, bytes());
  while (at < end) {
    const ssize_t count = ::pread(descriptor_, to.data(), end - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return tl::unexpected(ReadFailure{at, count < 0 ? errno : 0});
    at += static_cast<std::size_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

FileError MappedFile::error_of(const ReadFailure& failure) const {
  FileError error;
  if (failure.code != 0) {
    error = detail::system_error(path_, "read", failure.code);
  } else {
    error.file = path_;
    error.message = "ends here, and had " + std::to_string(size_) + " bytes when it was opened";
  }
  error.offset = failure.offset;
  return error;
}

void MappedFile::will_read(std::span<const std::byte> part) const {
  const auto [begin, end] = range_of(part, bytes());
  advise(bytes(), {begin / page_bytes() * page_bytes(), end}, MADV_WILLNEED);
}

void MappedFile::done_with(std::span<const std::byte> part) const {
  const auto [begin, end] = range_of(part, bytes());
  const std::size_t page = page_bytes();
  // The first and the last page stay if others have a share in them; the file's last page has no
  // others behind it.
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = end == size_ ? end : end / page * page;
  advise(bytes(), {first, last}, MADV_DONTNEED);
}

}  // namespace forge::formats
