// HttpClient: a blocking client on a socket of its own, so that a test can send anything, as slowly
// as it likes, and go away rudely. Every wait ends after a minute with an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct ssl_st;

namespace forge::test {

/// Where a server of this machine is, and how it is spoken to.
struct ServerPlace {
  std::uint16_t port = 0;
  std::string path = {};  // of its Unix socket, if it has one
  bool tls = false;       // any certificate will do

  ServerPlace(std::uint16_t tcp_port) : port(tcp_port) {}  // NOLINT(google-explicit-constructor)
  ServerPlace(std::uint16_t tcp_port, std::string socket_path, bool speaks_tls)
      : port(tcp_port), path(std::move(socket_path)), tls(speaks_tls) {}
};

class HttpClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  struct Response {
    unsigned status = 0;
    Headers headers;
    std::string body;

    nlohmann::json json() const;
    /// The first of this name, in any case; empty if there is none.
    std::string header(std::string_view name) const;
  };

  /// `receive_buffer_bytes`, if any: how much the system takes for a client that does not read.
  explicit HttpClient(const ServerPlace& place, int receive_buffer_bytes = 0);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(std::string_view bytes);

  static std::string text(std::string_view method, std::string_view path, std::string_view body,
                          const Headers& headers = {});
  static std::string text(std::string_view path, const nlohmann::json& body);

  Response get(std::string_view path);
  Response post(std::string_view path, const nlohmann::json& body);

  /// One whole response; `to_head`: to a HEAD request, which has no body.
  Response read(bool to_head = false);

  /// The header of a response whose events are read one by one.
  Response read_header();

  /// The rest of its body.
  std::string read_to_end_of_body();

  /// The data of the next event; nothing when the stream has ended.
  std::optional<std::string> next_event();

  /// All events that follow.
  std::vector<std::string> read_events();

  /// Everything until the server closes the connection, as it stands on the wire.
  std::string read_to_end();

  /// So many bytes of what comes, or all until the server closes the connection.
  void read_bytes(std::size_t count);

  /// What has come, at least a byte of it; nothing once the server has closed the connection.
  std::string receive_some();

  /// Waits until the server closes the connection; true if nothing came before that.
  bool closed_by_server();

  /// The common name of the server's certificate.
  std::string name_of_server() const;

  /// Without a word of TLS.
  void close();
  void close_sending_side();
  /// With TLS: says its end, and does no more.
  void send_close_notify();
  /// With TLS 1.3: encrypts with new keys from now on, and asks the server to do so, too.
  void renew_keys();
  /// Closes with a reset instead of an orderly end.
  void reset();

 private:
  struct Parser;
  struct FreeTls {
    void operator()(ssl_st* tls) const;
  };

  void connect(const ServerPlace& place);
  /// As ::recv() does; with TLS 0 means that the server has said its end (close_notify).
  std::ptrdiff_t receive(char* bytes, std::size_t count);
  void start(bool to_head);
  /// Gives the parser what has arrived; waits for more if that is not enough.
  void read_some();

  int socket_;
  std::unique_ptr<ssl_st, FreeTls> tls_;
  std::string input_;
  std::unique_ptr<Parser> parser_;  // of the answer that is being read
};

}  // namespace forge::test
