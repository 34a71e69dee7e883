#include "secret_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace forge::serve {

tl::expected<std::string, std::string> read_secret_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  struct stat status {};
  if (!stream || ::stat(file.c_str(), &status) != 0) {
    return tl::unexpected("cannot be read: " + std::string(std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) return tl::unexpected(std::string("is no file"));
  if ((status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
    return tl::unexpected(std::string("may be read or written by others: chmod 600 or 640"));
  }
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

}  // namespace forge::serve
