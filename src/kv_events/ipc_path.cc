#include "ipc_path.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace forge::kv_events {
namespace {

/// Empty: there is no file, or ZeroMQ makes it and removes it.
std::string path_of(std::string_view address) {
  const std::string_view path = address.substr(std::string_view("ipc://").size());
  return path == "*" || path.starts_with('@') ? std::string() : std::string(path);
}

bool is_listened_to(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return false;  // nobody can
  std::memcpy(name.sun_path, path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const bool is_connected =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  ::close(socket);
  return is_connected;
}

}  // namespace

tl::expected<void, std::string> may_bind_ipc(std::string_view address) {
  const std::string path = path_of(address);
  struct stat status {};
  if (path.empty() || ::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode))
    return tl::unexpected(std::string("there is a file that is no socket"));
  if (is_listened_to(path)) return tl::unexpected(std::string("somebody listens there"));
  return {};
}

void remove_ipc(std::string_view address) {
  const std::string path = path_of(address);
  if (!path.empty()) ::unlink(path.c_str());
}

}  // namespace forge::kv_events
