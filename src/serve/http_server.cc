#include "forge/serve/http_server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "server_state.h"
#include "session.h"

namespace forge {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds kAcceptRetry{50};

/// A coroutine that ends with an exception is a bug: let it end the program.
void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

asio::awaitable<void> accept_connections(std::shared_ptr<ServerState> state) {
  while (!state->shutting_down) {
    if (state->sessions.size() >= state->options.connections_max) {
      state->session_ended.expires_at(asio::steady_timer::time_point::max());
      co_await state->session_ended.async_wait(kAsTuple);
      continue;
    }
    auto [error, socket] = co_await state->acceptor.async_accept(kAsTuple);
    if (state->shutting_down) co_return;
    if (error) {  // no file descriptors left, most likely: some connection will end
      asio::steady_timer pause(state->acceptor.get_executor(), kAcceptRetry);
      co_await pause.async_wait(kAsTuple);
      continue;
    }
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    auto session = std::make_shared<Session>(std::move(socket), state);
    asio::co_spawn(state->acceptor.get_executor(), Session::run(std::move(session)), rethrow);
  }
}

std::string listen_error(const Address& address, const boost::system::error_code& error) {
  std::string text = "cannot listen on " + to_string(address) + ": " + error.message();
  if (error == asio::error::address_in_use) text += "; port 0 picks a free one";
  return text;
}

tl::expected<void, boost::system::error_code> open(tcp::acceptor& acceptor,
                                                   const tcp::endpoint& endpoint) {
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  boost::system::error_code ignored;
  acceptor.close(ignored);
  return tl::unexpected(error);
}

}  // namespace

HttpServer::HttpServer(asio::io_context& io, EngineLoop& loop, ModelCard model,
                       const HttpOptions& options)
    : state_(std::make_shared<ServerState>(io, loop, std::move(model), options)) {}

HttpServer::~HttpServer() = default;

tl::expected<Address, std::string> HttpServer::listen(const Address& address) {
  boost::system::error_code error;
  tcp::resolver resolver(state_->acceptor.get_executor());
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error) return tl::unexpected(listen_error(address, error));
  const tcp::endpoint endpoint = *found.begin();
  if (auto opened = open(state_->acceptor, endpoint); !opened) {
    return tl::unexpected(listen_error(address, opened.error()));
  }
  asio::co_spawn(state_->acceptor.get_executor(), accept_connections(state_), rethrow);
  return Address{address.host, state_->acceptor.local_endpoint().port()};
}

void HttpServer::shutdown(std::function<void()> ended) {
  asio::post(state_->acceptor.get_executor(), [state = state_, ended = std::move(ended)]() mutable {
    state->shutting_down = true;
    state->ended = std::move(ended);
    boost::system::error_code ignored;
    state->acceptor.close(ignored);
    state->session_ended.cancel();
    for (Session* session : state->sessions) session->close_if_idle();
    if (state->sessions.empty() && state->ended) std::exchange(state->ended, nullptr)();
  });
}

}  // namespace forge
