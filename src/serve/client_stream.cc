#include "client_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/write.hpp>
#include <string>
#include <utility>

namespace forge::serve {
namespace {

constexpr std::size_t kHandshakeReadBytes = 4096;

}  // namespace

ClientStream::ClientStream(Socket socket, const std::optional<TlsCertificate>& certificate)
    : socket_(std::move(socket)) {
  if (certificate) tls_.emplace(*certificate);
}

ClientStream::~ClientStream() { close(); }

ClientStream::Socket::endpoint_type ClientStream::local_endpoint() const {
  boost::system::error_code ignored;
  return socket_.local_endpoint(ignored);
}

ClientStream::Socket::endpoint_type ClientStream::remote_endpoint() const {
  boost::system::error_code ignored;
  return socket_.remote_endpoint(ignored);
}

asio::awaitable<ClientStream::Handshake> ClientStream::shake_hands() {
  std::array<char, kHandshakeReadBytes> input;
  for (;;) {
    const TlsSession::Handshake state = tls_->shake_hands();
    if (state == TlsSession::Handshake::speaks_http) {
      tls_.reset();
      co_return Handshake::speaks_http;
    }
    if (co_await flush()) co_return Handshake::failed;
    if (state == TlsSession::Handshake::done) co_return Handshake::done;
    if (state == TlsSession::Handshake::failed) co_return Handshake::failed;
    const auto [error, count] = co_await socket_.async_read_some(asio::buffer(input), kAsTuple);
    if (error) co_return Handshake::failed;
    tls_->put({input.data(), count});
  }
}

asio::awaitable<ClientStream::Transferred> ClientStream::read_some(asio::mutable_buffer to) {
  if (tls_) return read_through_tls(to);
  return socket_.async_read_some(to, kAsTuple);
}

asio::awaitable<ClientStream::Transferred> ClientStream::write(asio::const_buffer bytes) {
  if (tls_) return write_through_tls(bytes);
  return asio::async_write(socket_, bytes, kAsTuple);
}

/// What arrives lies in `to` until it is decrypted, into the same place.
asio::awaitable<ClientStream::Transferred> ClientStream::read_through_tls(asio::mutable_buffer to) {
  const auto bytes = static_cast<char*>(to.data());
  for (;;) {
    const auto read = tls_->read({bytes, to.size()});
    if (!read) co_return Transferred(read.error(), 0);
    if (*read > 0) co_return Transferred(boost::system::error_code(), *read);
    const auto [error, count] = co_await socket_.async_read_some(to, kAsTuple);
    if (error) co_return Transferred(error, 0);
    tls_->put({bytes, count});
  }
}

asio::awaitable<ClientStream::Transferred> ClientStream::write_through_tls(
    asio::const_buffer bytes) {
  if (!tls_->write({static_cast<const char*>(bytes.data()), bytes.size()})) {
    co_return Transferred(asio::error::connection_aborted, 0);
  }
  const boost::system::error_code error = co_await flush();
  co_return Transferred(error, error ? 0 : bytes.size());
}

asio::awaitable<boost::system::error_code> ClientStream::flush() {
  const std::string output = tls_->take_output();
  if (output.empty()) co_return boost::system::error_code();
  is_whole_ = false;
  const auto [error, count] = co_await asio::async_write(socket_, asio::buffer(output), kAsTuple);
  is_whole_ = !error;
  co_return error;
}

bool ClientStream::write_at_once(std::string_view bytes) {
  boost::system::error_code error;
  const std::size_t written = socket_.write_some(asio::buffer(bytes), error);
  return !error && written == bytes.size();
}

bool ClientStream::takes_output() {
  pollfd state{.fd = socket_.native_handle(), .events = POLLOUT, .revents = 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLOUT) != 0;
}

bool ClientStream::has_input() const {
  boost::system::error_code ignored;
  return (tls_ && tls_->has_input()) || socket_.available(ignored) > 0;
}

asio::awaitable<void> ClientStream::wait_for_input() {
  if (!has_input()) co_await socket_.async_wait(Socket::wait_read, kAsTuple);
}

asio::awaitable<void> ClientStream::wait_for_error() {
  co_await socket_.async_wait(Socket::wait_error, kAsTuple);
}

asio::awaitable<void> ClientStream::finish() {
  if (tls_ && is_whole_) {
    tls_->end();
    co_await flush();
  }
  tls_.reset();
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void ClientStream::close() {
  if (tls_ && is_whole_ && socket_.is_open()) {
    tls_->end();
    const std::string output = tls_->take_output();
    ::send(socket_.native_handle(), output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace forge::serve
