#include "forge/serve/http_server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <exception>
#include <utility>

#include "connection.h"
#include "forge/core/check.h"
#include "health.h"
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
  while (state->phase != Phase::closing) {
    std::exception_ptr failure;
    try {
      auto [error, socket] = co_await state->acceptor.async_accept(kAsTuple);
      if (!error) {
        serve(std::move(socket), state);
        continue;
      }
      if (state->phase == Phase::closing) co_return;
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

/// Looks at the model's progress until the server closes.
asio::awaitable<void> watch_progress(std::shared_ptr<ServerState> state) {
  constexpr std::chrono::milliseconds kPeriodMax{500};
  const auto period = std::min(kPeriodMax, state->options.health_stall / 4);
  while (state->phase != Phase::closing) {
    ServedModel& model = state->model();
    const engine::EngineStatus status = model.loop.status();
    model.progress.look(status.waiting + status.running > 0, model.loop.progress(),
                        ProgressWatch::Clock::now());
    state->time_to_look.expires_after(period);
    co_await state->time_to_look.async_wait(kAsTuple);
  }
}

/// Returns when `condition` holds or `time` is over, whichever comes first.
template <class Condition>
asio::awaitable<void> wait_until(std::shared_ptr<ServerState> state, Condition condition,
                                 std::chrono::milliseconds time) {
  const auto deadline = asio::steady_timer::clock_type::now() + time;
  while (!condition() && asio::steady_timer::clock_type::now() < deadline) {
    state->time_to_end.expires_at(deadline);
    co_await state->time_to_end.async_wait(kAsTuple);
  }
}

/// Clients that the system has taken on while the last request ended are refused, not cut off. They
/// are no more than it has places for: those that come meanwhile keep nobody from the end.
void accept_the_last(const std::shared_ptr<ServerState>& state) {
  boost::system::error_code error;
  state->acceptor.non_blocking(true, error);
  try {
    for (int left = asio::socket_base::max_listen_connections; left > 0 && !error; --left) {
      ClientStream::Socket socket(state->acceptor.get_executor());
      state->acceptor.accept(socket, error);
      if (!error) serve(std::move(socket), state);
    }
  } catch (...) {
    report(*state, std::current_exception());
  }
}

void close(const std::shared_ptr<ServerState>& shared) {
  ServerState& state = *shared;
  accept_the_last(shared);
  state.phase = Phase::closing;
  state.time_to_look.cancel();
  state.socket_file.reset();  // while it still listens: nobody else takes the place before that
  boost::system::error_code ignored;
  state.acceptor.close(ignored);
  state.connections.for_each([](Connection& connection) { connection.close_if_silent(); });
}

/// Lets the requests end, then the connections of who still asks, or does not take an answer.
asio::awaitable<void> end(std::shared_ptr<ServerState> state, std::function<void()> ended) {
  const HttpOptions& options = state->options;
  const auto drained = [&state] { return state->connections.drained(); };
  const auto empty = [&state] { return state->connections.empty(); };
  state->phase = Phase::draining;
  state->connections.begin_drain();
  state->connections.for_each([](Connection& connection) { connection.close_if_silent(); });
  co_await wait_until(state, drained, options.shutdown_timeout);
  if (!drained() && state->served) state->model().loop.end_all();
  co_await wait_until(state, drained, options.linger_timeout);
  if (!drained()) state->connections.for_each([](Connection& connection) { connection.drop(); });
  close(state);
  co_await asio::post(asio::use_awaitable);  // what has been accepted already is served first
  co_await wait_until(state, empty, options.linger_timeout);
  state->connections.for_each([](Connection& connection) { connection.drop(); });
  co_await wait_until(state, empty, options.linger_timeout);
  if (ended) ended();
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
  std::string missing;
  if (!state.keys) missing = "anybody may ask (there is no --api-key-file)";
  if (!state.keys && !state.certificate) missing += ", and ";
  if (!state.certificate) {
    missing += "keys and answers can be read on their way (there is no --tls-cert)";
  }
  return missing;
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

HttpServer::HttpServer(asio::io_context& io, const HttpOptions& options)
    : state_(std::make_shared<ServerState>(io, options)) {}

HttpServer::~HttpServer() = default;

tl::expected<Address, std::string> HttpServer::listen(const Address& address) {
  auto listening =
      address.is_unix() ? listen_at_path(*state_, address) : listen_at_port(*state_, address);
  if (listening) {
    asio::co_spawn(state_->acceptor.get_executor(), accept_connections(state_), rethrow);
  }
  return listening;
}

void HttpServer::serve(engine::EngineLoop& loop, ModelCard model) {
  FORGE_CHECK(!state_->served, "a server has one model");
  state_->served.emplace(loop, std::move(model), state_->options);
  asio::co_spawn(state_->acceptor.get_executor(), watch_progress(state_), rethrow);
}

bool HttpServer::is_live() const { return serve::is_live(health_of(*state_)); }

void HttpServer::set_certificate(TlsCertificate certificate) {
  state_->certificate = std::move(certificate);
}

void HttpServer::set_keys(ApiKeys keys) {
  state_->keys = std::move(keys);
  state_->connections.for_each(
      [this](Connection& connection) { connection.drop_unless_in(*state_->keys); });
}

void HttpServer::shutdown(std::function<void()> ended) {
  asio::co_spawn(state_->acceptor.get_executor(), end(state_, std::move(ended)), rethrow);
}

}  // namespace forge::serve
