// forge-bare-server: what a server of OpenAI's API cannot do without, and no more: Boost.Beast, one
// thread, an answer that is known beforehand. Beside it forge-infer --target null shows what the
// rest costs (bench/README.md).
//
// Says on which port of this machine it listens, and ends by a signal.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdio>
#include <string>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr int kTokens = 64;

const std::string& models() {
  static const std::string text = [] {
    const std::string body = R"({"object":"list","data":[{"id":"null","object":"model"}]})";
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }();
  return text;
}

std::string chunk(const std::string& fields) {
  const std::string event =
      R"(data: {"id":"cmpl-00000000000000000000000000000000","object":"text_completion",)"
      R"("created":1700000000,"model":"null",)" +
      fields + "}\n\n";
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", event.size());
  return size + event + "\r\n";
}

/// The events of an answer, one a token, each a chunk of the body.
const std::string& answer() {
  static const std::string text = [] {
    std::string all =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < kTokens; ++i) {
      all += chunk(R"("choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null}])");
    }
    all += chunk(R"("choices":[],"usage":{"prompt_tokens":40,"completion_tokens":)" +
                 std::to_string(kTokens) + R"(,"total_tokens":104})");
    return all + "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
  }();
  return text;
}

asio::awaitable<void> serve(tcp::socket socket) {
  boost::beast::flat_buffer buffer;
  try {
    socket.set_option(tcp::no_delay(true));
    while (true) {
      http::request<http::string_body> request;
      co_await http::async_read(socket, buffer, request, asio::use_awaitable);
      const bool asks = request.method() == http::verb::post;
      co_await asio::async_write(socket, asio::buffer(asks ? answer() : models()),
                                 asio::use_awaitable);
    }
  } catch (const boost::system::system_error&) {
    co_return;  // the client has gone
  }
}

asio::awaitable<void> listen(tcp::acceptor& acceptor) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

}  // namespace

int main() {
  asio::io_context io(1);
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("listening on http://127.0.0.1:%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  asio::co_spawn(io, listen(acceptor), asio::detached);
  io.run();
}
