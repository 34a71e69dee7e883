// HttpClient: a blocking client on a plain socket, so that a test can send anything, as slowly as
// it likes, and go away rudely. Every wait ends after a minute with an exception.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forge::test {

namespace http = boost::beast::http;

class HttpClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  struct Response {
    unsigned status = 0;
    http::fields headers;
    std::string body;

    nlohmann::json json() const { return nlohmann::json::parse(body); }
    std::string header(std::string_view name) const {
      const auto value = headers[boost::beast::string_view(name.data(), name.size())];
      return {value.data(), value.size()};
    }
  };

  /// `receive_buffer_bytes`, if any: how much the system takes for a client that does not read.
  explicit HttpClient(std::uint16_t port, int receive_buffer_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval timeout{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (receive_buffer_bytes > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                   sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close();
      throw std::runtime_error("cannot connect");
    }
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("the connection is closed");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  static std::string text(std::string_view method, std::string_view path, std::string_view body,
                          const Headers& headers = {}) {
    std::string out = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n";
    for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
    if (!body.empty()) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return out + "\r\n" + std::string(body);
  }
  static std::string text(std::string_view path, const nlohmann::json& body) {
    return text("POST", path, body.dump(), {{"Content-Type", "application/json"}});
  }

  Response get(std::string_view path) {
    send(text("GET", path, ""));
    return read();
  }
  Response post(std::string_view path, const nlohmann::json& body) {
    send(text(path, body));
    return read();
  }

  /// One whole response.
  Response read(bool to_head = false) {
    start(to_head);
    while (!parser_->is_done()) read_some();
    return {parser_->get().result_int(), parser_->get().base(),
            std::exchange(parser_->get().body(), {})};
  }

  /// The header of a response whose events are read one by one.
  Response read_header() {
    start(false);
    while (!parser_->is_header_done()) read_some();
    return {parser_->get().result_int(), parser_->get().base(), ""};
  }

  /// The data of the next event; nothing when the stream has ended.
  std::optional<std::string> next_event() {
    for (;;) {
      std::string& body = parser_->get().body();
      if (const std::size_t end = body.find("\n\n"); end != std::string::npos) {
        std::string data = body.substr(0, end);
        body.erase(0, end + 2);
        if (!data.starts_with("data: ")) throw std::runtime_error("not an event: " + data);
        return data.substr(6);
      }
      if (parser_->is_done()) return std::nullopt;
      read_some();
    }
  }

  /// All events that follow.
  std::vector<std::string> read_events() {
    std::vector<std::string> events;
    while (auto event = next_event()) events.push_back(std::move(*event));
    return events;
  }

  /// Everything until the server closes the connection, as it stands on the wire.
  std::string read_to_end() {
    char bytes[16384];
    for (;;) {
      const auto count = ::recv(socket_, bytes, sizeof bytes, 0);
      if (count < 0) throw std::runtime_error("no end within a minute, or a reset");
      if (count == 0) return std::exchange(input_, "");
      input_.append(bytes, static_cast<std::size_t>(count));
    }
  }

  /// So many bytes of what comes, or all until the server closes the connection.
  void read_bytes(std::size_t count) {
    char bytes[16384];
    while (count > 0) {
      const auto got = ::recv(socket_, bytes, std::min(count, sizeof bytes), 0);
      if (got < 0) throw std::runtime_error("nothing came within a minute, or a reset");
      if (got == 0) return;
      count -= static_cast<std::size_t>(got);
    }
  }

  /// Waits until the server closes the connection; true if nothing came before that.
  bool closed_by_server() {
    char byte = 0;
    return input_.empty() && ::recv(socket_, &byte, 1, 0) == 0;
  }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void close_sending_side() { ::shutdown(socket_, SHUT_WR); }
  /// Closes with a reset instead of an orderly end.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

 private:
  void start(bool to_head) {
    parser_.emplace();
    parser_->body_limit(boost::none);
    parser_->skip(to_head);
    parser_->eager(true);
  }

  /// Gives the parser what has arrived; waits for more if that is not enough.
  void read_some() {
    boost::beast::error_code error;
    if (!input_.empty()) {
      const std::size_t parsed = parser_->put(boost::asio::buffer(input_), error);
      input_.erase(0, parsed);
      if (error && error != http::error::need_more) throw std::runtime_error(error.message());
      if (!error || parsed > 0) return;
    }
    char bytes[16384];
    const auto count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count < 0) throw std::runtime_error("no answer within a minute, or a reset");
    if (count == 0) {
      parser_->put_eof(error);
      if (error) throw std::runtime_error("the connection ended inside a response");
      return;
    }
    input_.append(bytes, static_cast<std::size_t>(count));
  }

  int socket_;
  std::string input_;
  std::optional<http::response_parser<http::string_body>> parser_;
};

}  // namespace forge::test
