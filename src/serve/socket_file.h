// SocketFile: the file by which programs of this machine find a Unix socket.
//
//   at the path is            listening there
//   nothing                   makes the file
//   a socket, nobody listens  takes its place: a server that was killed leaves one
//   a socket with a server    is an error
//   anything else             is an error
//
// Owner and group may connect (0660), whatever the umask says. The file goes with this object, but
// only while it is the same: not one that another server has put there since.
//
// Source: unix(7). Thread contract: the I/O thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <string>
#include <tl/expected.hpp>

#include "asio_types.h"

namespace forge::serve {

/// Of TCP and of Unix sockets alike.
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

class SocketFile {
 public:
  /// Opens the acceptor at `path`. Errors: what is wrong, to stand behind the address; the
  /// acceptor is closed.
  static tl::expected<SocketFile, std::string> listen(Acceptor& acceptor, const std::string& path);

  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

 private:
  SocketFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;  // empty: moved from
  dev_t device_;
  ino_t inode_;
};

}  // namespace forge::serve
