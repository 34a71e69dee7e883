#include "probe.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "http_stream.h"

namespace forge::apps {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using Response = http::response<http::string_body>;

constexpr std::chrono::seconds kTimeLimit{5};

asio::awaitable<Response> get(const HttpUrl& url) {
  const auto stream = co_await HttpStream::connect(url, HttpStream::Certificate::any);
  const std::string path = url.path.empty() ? "/health/ready" : url.path;
  co_await stream->write("GET " + path + " HTTP/1.1\r\nHost: " + url.host() +
                         "\r\nUser-Agent: forge-infer\r\nConnection: close\r\n\r\n");
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  std::string bytes;
  std::array<char, 4096> room{};
  while (!parser.is_done()) {
    const std::size_t count = co_await stream->read_some(asio::buffer(room));
    bytes.append(room.data(), count);
    boost::system::error_code error;
    if (count == 0) parser.put_eof(error);
    if (count > 0) bytes.erase(0, parser.put(asio::buffer(bytes), error));
    if (error && error != http::error::need_more) throw boost::system::system_error(error);
  }
  co_return parser.release();
}

}  // namespace

int probe(const HttpUrl& url) {
  asio::io_context io;
  std::optional<Response> response;
  std::string failure = "Connection timed out";
  asio::co_spawn(io, get(url), [&](const std::exception_ptr& error, Response answer) {
    try {
      if (error) std::rethrow_exception(error);
      response = std::move(answer);
    } catch (const boost::system::system_error& failed) {
      failure = failed.code().message();
    }
  });
  io.run_for(kTimeLimit);
  if (!response) {
    std::cerr << "forge-infer: no answer from " + to_string(url.address) + ": " + failure + '\n';
    return 1;
  }
  std::cout << response->body() << '\n' << std::flush;
  return http::to_status_class(response->result()) == http::status_class::successful ? 0 : 1;
}

}  // namespace forge::apps
