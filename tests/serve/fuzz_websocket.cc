// libFuzzer target: any bytes behind an upgrade, as frames of a WebSocket. The first two say how
// long a message may be.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_websocket
//   build/asan/bin/fuzz_websocket -max_total_time=60
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "websocket.h"

namespace {

using namespace forge::serve;
namespace asio = boost::asio;

HttpRequest an_upgrade() {
  HttpRequest request(boost::beast::http::verb::get, "/forge/v1/stream", 11);
  request.set("Host", "localhost");
  request.set("Upgrade", "websocket");
  request.set("Connection", "upgrade");
  request.set("Sec-WebSocket-Version", "13");
  request.set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  return request;
}

/// Reads until the client has gone, and answers each message with as many bytes.
asio::awaitable<void> serve_to_the_end(ClientStream& stream, std::string bytes,
                                       std::size_t bytes_max) {
  WebSocket socket(stream, std::move(bytes), std::chrono::seconds(1));
  const HttpRequest request = an_upgrade();
  if (refuse_upgrade(request, true)) std::abort();
  bool goes_on = co_await socket.accept(request, "id");
  while (goes_on) {
    const WebSocket::Message message = co_await socket.read(bytes_max);
    if (message.text.size() > bytes_max) std::abort();
    goes_on = message.kind == WebSocket::Message::Kind::text;
    if (goes_on) goes_on = co_await socket.write(message.text);
  }
  stream.close();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t bytes_max = data[0] | data[1] << 8;
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  {
    asio::io_context io;
    ClientStream::Socket socket(io);
    socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
    ClientStream stream(std::move(socket), std::nullopt);
    ::shutdown(ends[1], SHUT_WR);  // nothing comes behind these bytes
    asio::co_spawn(
        io,
        serve_to_the_end(stream, {reinterpret_cast<const char*>(data) + 2, size - 2}, bytes_max),
        [](const std::exception_ptr& error) {
          if (error) std::abort();
        });
    io.run();
  }
  ::close(ends[1]);
  return 0;
}
