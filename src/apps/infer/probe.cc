#include "probe.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string_view>
#include <utility>

#include "forge/core/quoted.h"

namespace forge::apps {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using asio::use_awaitable;
using Protocol = asio::generic::stream_protocol;
using Stream = boost::beast::basic_stream<Protocol>;
using Response = http::response<http::string_body>;

constexpr std::chrono::seconds kTimeLimit{5};

asio::awaitable<Protocol::endpoint> endpoint_of(const serve::Address& address) {
  if (address.is_unix()) co_return asio::local::stream_protocol::endpoint(address.path);
  const auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  const auto found =
      co_await resolver.async_resolve(address.host, std::to_string(address.port), use_awaitable);
  co_return found.begin()->endpoint();
}

template <class AnyStream>
asio::awaitable<Response> get(AnyStream& stream, const ProbeTarget& target) {
  http::request<http::empty_body> request(http::verb::get, target.path, 11);
  request.set(http::field::host,
              target.address.is_unix() ? "localhost" : to_string(target.address));
  request.set(http::field::user_agent, "forge-infer --probe");
  request.keep_alive(false);
  co_await http::async_write(stream, request, use_awaitable);
  boost::beast::flat_buffer buffer;
  Response response;
  co_await http::async_read(stream, buffer, response, use_awaitable);
  co_return response;
}

asio::awaitable<Response> ask(const ProbeTarget& target) {
  const auto executor = co_await asio::this_coro::executor;
  const Protocol::endpoint endpoint = co_await endpoint_of(target.address);
  Stream stream(executor);
  stream.expires_after(kTimeLimit);
  co_await stream.async_connect(endpoint, use_awaitable);
  if (!target.has_tls) co_return co_await get(stream, target);
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<Stream&> secure(stream, context);
  co_await secure.async_handshake(asio::ssl::stream_base::client, use_awaitable);
  co_return co_await get(secure, target);
}

}  // namespace

tl::expected<ProbeTarget, std::string> parse_probe(const std::string& url) {
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  ProbeTarget target;
  std::string_view place = url;
  if (!place.starts_with("unix:")) {
    target.has_tls = place.starts_with(kHttps);
    if (!target.has_tls && !place.starts_with(kHttp)) {
      return tl::unexpected(in_quotes(url) +
                            " is no address to probe: accepted are http://HOST:PORT[/PATH], "
                            "https://HOST:PORT[/PATH] and unix:SOCKET");
    }
    place.remove_prefix(target.has_tls ? kHttps.size() : kHttp.size());
    const std::size_t slash = place.find('/');
    if (slash != std::string_view::npos && slash + 1 < place.size())
      target.path = place.substr(slash);
    place = place.substr(0, slash);
  }
  auto address = serve::parse_address(place);
  if (!address) return tl::unexpected(address.error());
  target.address = *std::move(address);
  return target;
}

int probe(const ProbeTarget& target) {
  asio::io_context io;
  Response response;
  std::exception_ptr failure;
  asio::co_spawn(io, ask(target), [&](const std::exception_ptr& error, Response answer) {
    failure = error;
    response = std::move(answer);
  });
  io.run();
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    std::cerr << "forge-infer: no answer from " + to_string(target.address) + ": " +
                     error.code().message() + '\n';
    return 1;
  }
  std::cout << response.body() << '\n' << std::flush;
  return http::to_status_class(response.result()) == http::status_class::successful ? 0 : 1;
}

}  // namespace forge::apps
