#include "line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace forge::apps {

Typed LineReader::read() {
  while (true) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      Typed typed{TypedKind::line, unread_.substr(0, end)};
      unread_.erase(0, end + 1);
      if (end >= kLineBytesMax) typed.kind = TypedKind::cut;
      return typed;
    }
    std::array<pollfd, 2> inputs{pollfd{STDIN_FILENO, POLLIN, 0},
                                 pollfd{ctrl_c_.descriptor(), POLLIN, 0}};
    if (poll(inputs.data(), inputs.size(), -1) < 0 && errno != EINTR) return {};
    if (ctrl_c_.take()) {
      unread_.clear();
      return {TypedKind::ctrl_c};
    }
    if (inputs[0].revents == 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace forge::apps
