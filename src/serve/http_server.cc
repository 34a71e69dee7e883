#include "forge/serve/http_server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <exception>
#include <utility>

#include "connection.h"
#include "server_state.h"

namespace forge::serve {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds kAcceptRetry{50};

/// A coroutine of the server itself that ends with an exception is a bug: let it end the program.
void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

/// An exception in a connection (no memory, most likely) costs that connection.
void report(const ServerState& state, const std::exception_ptr& error) {
  if (!error || !state.options.on_connection_error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    state.options.on_connection_error(exception.what());
  }
}

void serve(ClientStream::Socket socket, const std::shared_ptr<ServerState>& state) {
  boost::system::error_code ignored;
  if (!state->socket_file) socket.set_option(tcp::no_delay(true), ignored);
  socket.non_blocking(true, ignored);  // for ClientStream::write_at_once
  const auto place = state->connections.make_room();
  auto connection = std::make_shared<Connection>(std::move(socket), place, state);
  asio::co_spawn(state->acceptor.get_executor(), Connection::run(std::move(connection)),
                 [state](const std::exception_ptr& error) { report(*state, error); });
}

asio::awaitable<void> accept_connections(std::shared_ptr<ServerState> state) {
  while (!state->shutting_down) {
    std::exception_ptr failure;
    try {
      auto [error, socket] = co_await state->acceptor.async_accept(kAsTuple);
      if (state->shutting_down) co_return;
      if (!error) {
        serve(std::move(socket), state);
        continue;
      }
    } catch (...) {
      failure = std::current_exception();
    }
    report(*state, failure);
    // No file descriptors or no memory left, most likely.
    state->connections.close_longest_idle();
    asio::steady_timer pause(state->acceptor.get_executor(), kAcceptRetry);
    co_await pause.async_wait(kAsTuple);
  }
}

/// Ends what is still there when the time for a shutdown is over: first the requests, then the
/// connections of clients that do not take their answers.
asio::awaitable<void> end_in_time(std::shared_ptr<ServerState> state) {
  const auto wait = [&state](std::chrono::milliseconds time) {
    state->time_to_end.expires_after(time);
    return state->time_to_end.async_wait(kAsTuple);
  };
  co_await wait(state->options.shutdown_timeout);
  if (state->connections.empty()) co_return;
  state->loop.end_all();
  co_await wait(state->options.linger_timeout);
  state->connections.for_each([](Connection& connection) { connection.drop(); });
}

std::string listen_error(const Address& address, const boost::system::error_code& error) {
  std::string text = "cannot listen on " + to_string(address) + ": " + error.message();
  if (error == asio::error::address_in_use) text += "; port 0 picks a free one";
  return text;
}

tl::expected<void, boost::system::error_code> open(Acceptor& acceptor,
                                                   const tcp::endpoint& endpoint) {
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  boost::system::error_code ignored;
  acceptor.close(ignored);
  return tl::unexpected(error);
}

/// What keeps a server from an address that others can reach; nothing if all is well.
std::string missing_for_others(const ServerState& state) {
  if (state.options.insecure) return "";
  const std::string no_keys = "anybody may ask (there is no --api-key-file)";
  const std::string no_tls = "keys and answers can be read on their way (there is no --tls-cert)";
  if (!state.keys && !state.certificate) return no_keys + ", and " + no_tls;
  if (!state.keys) return no_keys;
  return state.certificate ? "" : no_tls;
}

tl::expected<Address, std::string> listen_at_port(ServerState& state, const Address& address) {
  boost::system::error_code error;
  tcp::resolver resolver(state.acceptor.get_executor());
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error) return tl::unexpected(listen_error(address, error));
  tcp::endpoint endpoint = *found.begin();
  const std::string missing = endpoint.address().is_loopback() ? "" : missing_for_others(state);
  if (!missing.empty()) {
    return tl::unexpected("cannot listen on " + to_string(address) +
                          ": others than this machine can reach it, and " + missing +
                          "; --insecure does it all the same");
  }
  if (auto opened = open(state.acceptor, endpoint); !opened) {
    return tl::unexpected(listen_error(address, opened.error()));
  }
  const auto local = state.acceptor.local_endpoint();
  std::memcpy(endpoint.data(), local.data(), std::min(local.size(), endpoint.capacity()));
  return Address{.host = address.host, .port = endpoint.port()};
}

tl::expected<Address, std::string> listen_at_path(ServerState& state, const Address& address) {
  auto file = SocketFile::listen(state.acceptor, address.path);
  if (!file) {
    return tl::unexpected("cannot listen on " + to_string(address) + ": " + file.error());
  }
  state.socket_file.emplace(*std::move(file));
  return address;
}

}  // namespace

HttpServer::HttpServer(asio::io_context& io, engine::EngineLoop& loop, ModelCard model,
                       const HttpOptions& options)
    : state_(std::make_shared<ServerState>(io, loop, std::move(model), options)) {}

HttpServer::~HttpServer() = default;

tl::expected<Address, std::string> HttpServer::listen(const Address& address) {
  auto listening =
      address.is_unix() ? listen_at_path(*state_, address) : listen_at_port(*state_, address);
  if (listening) {
    asio::co_spawn(state_->acceptor.get_executor(), accept_connections(state_), rethrow);
  }
  return listening;
}

void HttpServer::set_certificate(TlsCertificate certificate) {
  state_->certificate = std::move(certificate);
}

void HttpServer::set_keys(ApiKeys keys) {
  state_->keys = std::move(keys);
  state_->connections.for_each(
      [this](Connection& connection) { connection.drop_unless_in(*state_->keys); });
}

void HttpServer::shutdown(std::function<void()> ended) {
  asio::post(state_->acceptor.get_executor(), [state = state_, ended = std::move(ended)]() mutable {
    state->shutting_down = true;
    state->ended = std::move(ended);
    state->socket_file.reset();  // while it still listens: nobody else takes the place before that
    boost::system::error_code ignored;
    state->acceptor.close(ignored);
    state->connections.for_each([](Connection& connection) { connection.close_if_silent(); });
    if (!state->connections.empty()) {
      asio::co_spawn(state->acceptor.get_executor(), end_in_time(state), rethrow);
    }
    state->tell_if_ended();
  });
}

}  // namespace forge::serve
