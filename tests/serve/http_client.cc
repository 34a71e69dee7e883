#include "serve/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <csignal>
#include <stdexcept>

namespace forge::test {

namespace http = boost::beast::http;
using nlohmann::json;

struct HttpClient::Parser : http::response_parser<http::string_body> {
  /// What has been read so far, but for the body.
  Response head() {
    Response response{.status = get().result_int()};
    for (const auto& field : get().base()) {
      response.headers.emplace_back(field.name_string(), field.value());
    }
    return response;
  }
};

json HttpClient::Response::json() const { return nlohmann::json::parse(body); }

std::string HttpClient::Response::header(std::string_view name) const {
  const auto is_it = [&](const auto& header) { return boost::beast::iequals(header.first, name); };
  const auto found = std::ranges::find_if(headers, is_it);
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(const ServerPlace& place, int receive_buffer_bytes)
    : socket_(::socket(place.path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval timeout{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (receive_buffer_bytes > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
  }
  connect(place);
  if (!place.tls) return;
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets as to files
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  tls_.reset(SSL_new(context.get()));
  SSL_set_fd(tls_.get(), socket_);
  if (SSL_connect(tls_.get()) != 1) {
    close();
    throw std::runtime_error("the handshake failed");
  }
}

void HttpClient::connect(const ServerPlace& place) {
  sockaddr_in internet{};
  internet.sin_family = AF_INET;
  internet.sin_port = htons(place.port);
  internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  place.path.copy(local.sun_path, sizeof local.sun_path - 1);
  const int failed =
      place.path.empty()
          ? ::connect(socket_, reinterpret_cast<const sockaddr*>(&internet), sizeof internet)
          : ::connect(socket_, reinterpret_cast<const sockaddr*>(&local), sizeof local);
  if (failed == 0) return;
  close();
  throw std::runtime_error("cannot connect");
}

void HttpClient::FreeTls::operator()(ssl_st* tls) const { SSL_free(tls); }

HttpClient::~HttpClient() { close(); }

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t sent =
        tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
             : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the connection is closed");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string HttpClient::text(std::string_view method, std::string_view path, std::string_view body,
                             const Headers& headers) {
  std::string out =
      std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
  if (!body.empty()) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return out + "\r\n" + std::string(body);
}

std::string HttpClient::text(std::string_view path, const json& body) {
  return text("POST", path, body.dump(), {{"Content-Type", "application/json"}});
}

HttpClient::Response HttpClient::get(std::string_view path) {
  send(text("GET", path, ""));
  return read();
}

HttpClient::Response HttpClient::post(std::string_view path, const json& body) {
  send(text(path, body));
  return read();
}

HttpClient::Response HttpClient::read(bool to_head) {
  start(to_head);
  while (!parser_->is_done()) read_some();
  Response response = parser_->head();
  response.body = std::exchange(parser_->get().body(), {});
  return response;
}

HttpClient::Response HttpClient::read_header() {
  start(false);
  while (!parser_->is_header_done()) read_some();
  return parser_->head();
}

std::string HttpClient::read_to_end_of_body() {
  while (!parser_->is_done()) read_some();
  return std::exchange(parser_->get().body(), {});
}

std::optional<std::string> HttpClient::next_event() {
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

std::vector<std::string> HttpClient::read_events() {
  std::vector<std::string> events;
  while (auto event = next_event()) events.push_back(std::move(*event));
  return events;
}

std::string HttpClient::read_to_end() {
  char bytes[16384];
  for (;;) {
    const auto count = receive(bytes, sizeof bytes);
    if (count < 0) throw std::runtime_error("no end within a minute, or a reset");
    if (count == 0) return std::exchange(input_, "");
    input_.append(bytes, static_cast<std::size_t>(count));
  }
}

void HttpClient::read_bytes(std::size_t count) {
  char bytes[16384];
  while (count > 0) {
    const auto got = receive(bytes, std::min(count, sizeof bytes));
    if (got < 0) throw std::runtime_error("nothing came within a minute, or a reset");
    if (got == 0) return;
    count -= static_cast<std::size_t>(got);
  }
}

std::string HttpClient::receive_some() {
  char bytes[16384];
  const auto count = receive(bytes, sizeof bytes);
  return {bytes, static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0))};
}

bool HttpClient::closed_by_server() {
  char byte = 0;
  return input_.empty() && receive(&byte, 1) == 0;
}

std::ptrdiff_t HttpClient::receive(char* bytes, std::size_t count) {
  if (!tls_) return ::recv(socket_, bytes, count, 0);
  const int got = SSL_read(tls_.get(), bytes, static_cast<int>(count));
  if (got > 0) return got;
  return SSL_get_error(tls_.get(), got) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

std::string HttpClient::name_of_server() const {
  const X509* const certificate = SSL_get0_peer_certificate(tls_.get());
  char name[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

void HttpClient::send_close_notify() { SSL_shutdown(tls_.get()); }

void HttpClient::renew_keys() {
  SSL_key_update(tls_.get(), SSL_KEY_UPDATE_REQUESTED);
  SSL_do_handshake(tls_.get());
}

void HttpClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void HttpClient::close_sending_side() { ::shutdown(socket_, SHUT_WR); }

void HttpClient::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void HttpClient::start(bool to_head) {
  parser_ = std::make_unique<Parser>();
  parser_->body_limit(boost::none);
  parser_->skip(to_head);
  parser_->eager(true);
}

void HttpClient::read_some() {
  boost::beast::error_code error;
  if (!input_.empty()) {
    const std::size_t parsed = parser_->put(boost::asio::buffer(input_), error);
    input_.erase(0, parsed);
    if (error && error != http::error::need_more) throw std::runtime_error(error.message());
    if (!error || parsed > 0) return;
  }
  char bytes[16384];
  const auto count = receive(bytes, sizeof bytes);
  if (count < 0) throw std::runtime_error("no answer within a minute, or a reset");
  if (count == 0) {
    parser_->put_eof(error);
    if (error) throw std::runtime_error("the connection ended inside a response");
    return;
  }
  input_.append(bytes, static_cast<std::size_t>(count));
}

}  // namespace forge::test
