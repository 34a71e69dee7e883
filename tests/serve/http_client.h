// HttpClient: a blocking client on a plain socket, so that a test can send anything, as slowly as
// it likes, and go away rudely. Every wait ends after a minute with an exception.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forge::test {

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
  explicit HttpClient(std::uint16_t port, int receive_buffer_bytes = 0);
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

  /// The data of the next event; nothing when the stream has ended.
  std::optional<std::string> next_event();

  /// All events that follow.
  std::vector<std::string> read_events();

  /// Everything until the server closes the connection, as it stands on the wire.
  std::string read_to_end();

  /// So many bytes of what comes, or all until the server closes the connection.
  void read_bytes(std::size_t count);

  /// Waits until the server closes the connection; true if nothing came before that.
  bool closed_by_server();

  void close();
  void close_sending_side();
  /// Closes with a reset instead of an orderly end.
  void reset();

 private:
  struct Parser;

  void start(bool to_head);
  /// Gives the parser what has arrived; waits for more if that is not enough.
  void read_some();

  int socket_;
  std::string input_;
  std::unique_ptr<Parser> parser_;  // of the answer that is being read
};

}  // namespace forge::test
