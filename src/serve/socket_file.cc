#include "socket_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace forge::serve {
namespace {

using Unix = asio::local::stream_protocol;

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;

tl::unexpected<std::string> failed() { return tl::unexpected(std::string(std::strerror(errno))); }

/// Removes a socket at which nobody listens.
tl::expected<void, std::string> make_way(const Acceptor::executor_type& executor,
                                         const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failed();
  }
  if (!S_ISSOCK(status.st_mode)) {
    return tl::unexpected(std::string("there is a file that is no socket"));
  }
  Unix::socket probe(executor);
  boost::system::error_code error;
  probe.connect(Unix::endpoint(path), error);
  if (!error) return tl::unexpected(std::string("a server listens there already"));
  if (error != asio::error::connection_refused) {
    return tl::unexpected("there is a socket, and asking it failed: " + error.message());
  }
  if (::unlink(path.c_str()) != 0) return failed();
  return {};
}

}  // namespace

tl::expected<SocketFile, std::string> SocketFile::listen(Acceptor& acceptor,
                                                         const std::string& path) {
  if (auto made = make_way(acceptor.get_executor(), path); !made) {
    return tl::unexpected(made.error());
  }
  boost::system::error_code error;
  acceptor.open(Unix(), error);
  if (!error) acceptor.bind(Unix::endpoint(path), error);
  if (error) {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    return tl::unexpected(error.message());
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return failed();
  SocketFile file(path, status.st_dev, status.st_ino);
  // Nobody can connect before listen(): there is no moment in which others may.
  if (::chmod(path.c_str(), kMode) != 0) return failed();
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return tl::unexpected(error.message());
  return file;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, "")), device_(other.device_), inode_(other.inode_) {}

SocketFile::~SocketFile() {
  struct stat status {};
  const bool is_there = !path_.empty() && ::lstat(path_.c_str(), &status) == 0;
  if (is_there && status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace forge::serve
