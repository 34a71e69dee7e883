#include "serve/websocket_client.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <stdexcept>

#include "serve/test_server.h"

namespace forge::test {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

/// An HttpClient as a stream of Asio's that blocks.
class ClientBytes {
 public:
  using executor_type = asio::io_context::executor_type;  // NOLINT: Asio's name

  ClientBytes(const ServerPlace& place, int receive_buffer_bytes)
      : client(place, receive_buffer_bytes) {}

  executor_type get_executor() { return io_.get_executor(); }

  template <class Buffers>
  std::size_t read_some(const Buffers& to, beast::error_code& error) {
    if (received_.empty()) received_ = client.receive_some();
    if (received_.empty()) error = asio::error::eof;
    const std::size_t count = asio::buffer_copy(to, asio::buffer(received_));
    received_.erase(0, count);
    return count;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& from, beast::error_code& error) {
    std::string bytes;
    for (const asio::const_buffer buffer : beast::buffers_range_ref(from)) {
      bytes.append(static_cast<const char*>(buffer.data()), buffer.size());
    }
    try {
      client.send(bytes);
    } catch (const std::runtime_error&) {
      error = asio::error::connection_reset;
    }
    return bytes.size();
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& to) {
    return checked([&](beast::error_code& error) { return read_some(to, error); });
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& from) {
    return checked([&](beast::error_code& error) { return write_some(from, error); });
  }

  friend void teardown(beast::role_type, ClientBytes& bytes, beast::error_code&) {
    bytes.client.close_sending_side();
  }
  friend void beast_close_socket(ClientBytes& bytes) { bytes.client.close(); }

  HttpClient client;

 private:
  template <class Transfer>
  static std::size_t checked(Transfer transfer) {
    beast::error_code error;
    const std::size_t count = transfer(error);
    if (error) throw beast::system_error(error);
    return count;
  }

  asio::io_context io_;  // does nothing
  std::string received_;
};

struct WebSocketClient::Parts {
  Parts(const ServerPlace& place, int receive_buffer_bytes) : socket(place, receive_buffer_bytes) {}

  websocket::stream<ClientBytes> socket;
  int pongs = 0;
};

HttpClient::Headers WebSocketClient::upgrade(const HttpClient::Headers& more) {
  HttpClient::Headers headers{{"Upgrade", "websocket"},
                              {"Connection", "Upgrade"},
                              {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                              {"Sec-WebSocket-Version", "13"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

WebSocketClient::WebSocketClient(const ServerPlace& place, const HttpClient::Headers& headers,
                                 int receive_buffer_bytes)
    : parts_(std::make_unique<Parts>(place, receive_buffer_bytes)) {
  auto& socket = parts_->socket;
  socket.read_message_max(0);
  socket.set_option(websocket::stream_base::decorator([headers](websocket::request_type& request) {
    for (const auto& [name, value] : headers) request.set(name, value);
  }));
  socket.control_callback([this](websocket::frame_type kind, beast::string_view) {
    if (kind == websocket::frame_type::pong) ++parts_->pongs;
  });
  socket.handshake("localhost", kStreamPath);
}

WebSocketClient::~WebSocketClient() = default;

void WebSocketClient::say_text(std::string_view text) {
  parts_->socket.text(true);
  parts_->socket.write(asio::buffer(text));
}

void WebSocketClient::say_binary(std::string_view bytes) {
  parts_->socket.binary(true);
  parts_->socket.write(asio::buffer(bytes));
}

void WebSocketClient::say_in_frames(std::string_view text, std::size_t frame_bytes) {
  parts_->socket.text(true);
  while (!text.empty()) {
    const std::string_view frame = text.substr(0, frame_bytes);
    text.remove_prefix(frame.size());
    parts_->socket.write_some(text.empty(), asio::buffer(frame));
  }
}

void WebSocketClient::ask(std::string_view id, std::string_view route, const nlohmann::json& body) {
  say({{"id", id}, {"route", route}, {"body", body}});
}

std::optional<std::string> WebSocketClient::next_text() {
  beast::flat_buffer buffer;
  beast::error_code error;
  parts_->socket.read(buffer, error);
  if (error) return std::nullopt;
  return std::string(static_cast<const char*>(buffer.data().data()), buffer.size());
}

nlohmann::json WebSocketClient::next() {
  const auto text = next_text();
  if (!text) throw std::runtime_error("the WebSocket is closed: " + close_reason());
  return nlohmann::json::parse(*text);
}

std::uint16_t WebSocketClient::close_code() {
  while (next_text()) {
  }
  return parts_->socket.reason().code;
}

std::string WebSocketClient::close_reason() const {
  const auto reason = parts_->socket.reason().reason;
  return {reason.data(), reason.size()};
}

void WebSocketClient::ping() { parts_->socket.ping("are you there"); }
int WebSocketClient::pongs() const { return parts_->pongs; }

void WebSocketClient::close() { parts_->socket.close(websocket::close_code::normal); }

HttpClient& WebSocketClient::bytes() { return parts_->socket.next_layer().client; }

HttpClient::Response ask_to_upgrade(const ServerPlace& place, const HttpClient::Headers& headers) {
  HttpClient client(place);
  client.send(HttpClient::text("GET", kStreamPath, "", headers));
  return client.read_header();
}

void expect_served(WebSocketClient& client) {
  client.ask("served", "/v1/completions", completion("x", 3));
  EXPECT_EQ(client.next()["answer"]["choices"][0]["text"], expected_text("x", 3));
}

}  // namespace forge::test
