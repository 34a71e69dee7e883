// WebSocketClient: a blocking client of GET /forge/v1/stream, over any stream that HttpClient has.
// Every wait ends after a minute with an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http_client.h"

namespace forge::test {

inline constexpr const char* kStreamPath = "/forge/v1/stream";

class WebSocketClient {
 public:
  /// Headers of an upgrade by hand, with these beside them.
  static HttpClient::Headers upgrade(const HttpClient::Headers& more = {});

  /// `receive_buffer_bytes`: as of HttpClient. Throws if the server does not answer 101.
  explicit WebSocketClient(const ServerPlace& place, const HttpClient::Headers& headers = {},
                           int receive_buffer_bytes = 0);
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  void say(const nlohmann::json& message) { say_text(message.dump()); }
  void say_text(std::string_view text);
  void say_binary(std::string_view bytes);
  /// One message, so many bytes a frame.
  void say_in_frames(std::string_view text, std::size_t frame_bytes);
  void ask(std::string_view id, std::string_view route, const nlohmann::json& body);
  void cancel(std::string_view id) { say({{"cancel", id}}); }

  /// The next message; nothing once the server has closed it, or the connection.
  std::optional<std::string> next_text();
  /// Throws where there is none.
  nlohmann::json next();

  /// Reads on to the end. Returns: why the server has closed it; 0: without a word.
  std::uint16_t close_code();
  /// What the server said with it.
  std::string close_reason() const;

  void ping();
  /// Answers to pings, as far as has been read.
  int pongs() const;

  /// Closes it in order.
  void close();
  /// What it speaks through.
  HttpClient& bytes();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The header of what a GET with these is answered.
HttpClient::Response ask_to_upgrade(const ServerPlace& place, const HttpClient::Headers& headers);

/// That it asks and is answered, of a server whose model is the fake one.
void expect_served(WebSocketClient& client);

}  // namespace forge::test
