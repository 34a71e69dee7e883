// StormClient: a client that does everything a client can do wrong, and knows what the answer of a
// quiet server would be. Each request is a fresh throw of the dice.
#pragma once

#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "serve/http_client.h"
#include "serve/test_server.h"

namespace forge::test {

/// Closes in an orderly way or by a reset.
inline void leave(HttpClient& client, bool rudely) {
  if (rudely) {
    client.reset();
  } else {
    client.close();
  }
}

class StormClient {
 public:
  /// Conversations, by their ids, are below it.
  static constexpr unsigned kSessions = 4;

  /// `key`, if any, is sent with each request.
  StormClient(std::uint16_t port, unsigned seed, const std::string& key = "")
      : port_(port), random_(seed) {
    if (!key.empty()) headers_ = {{"Authorization", "Bearer " + key}};
  }

  void run(int requests) {
    for (int i = 0; i < requests; ++i) request();
  }

  void request() {
    switch (dice(8)) {
      case 0:
        spoiled();
        break;
      case 1:
        not_http();
        break;
      case 2:
        leaves_early();
        break;
      case 3:
        half_closed();
        break;
      case 4:
        in_chunks();
        break;
      case 5:
        streamed();
        break;
      default:
        whole();
    }
  }

  int right() const { return right_; }
  int wrong() const { return wrong_; }
  int failed() const { return failed_; }  ///< requests whose step the target failed to run

  unsigned dice(unsigned sides) { return static_cast<unsigned>(random_() % sides); }
  /// `answer` is shown if it is wrong.
  void expect(bool holds, const std::string& answer) {
    ++(holds ? right_ : wrong_);
    if (!holds) std::cerr << "wrong: " + answer + '\n';
  }
  const HttpClient::Headers& headers() const { return headers_; }
  std::string text(const std::string& path, const nlohmann::json& body) const {
    return HttpClient::text("POST", path, body.dump(), headers_);
  }

 private:
  using json = nlohmann::json;

  std::string prompt() { return "prompt " + std::to_string(dice(20)); }
  int tokens() { return 1 + static_cast<int>(dice(12)); }

  json body(const std::string& prompt, int tokens) {
    json body = completion(prompt, tokens);
    if (dice(2) == 0) body["priority"] = std::vector{"low", "normal", "high"}[dice(3)];
    if (dice(3) == 0) body["session"] = dice(kSessions);
    return body;
  }

  /// Whether the answer is right, unless the target has failed.
  void judge(const std::string& answer, bool is_right) {
    if (answer.find("the target failed") != std::string::npos) {
      ++failed_;
    } else {
      expect(is_right, answer);
    }
  }

  void whole() {
    const std::string prompted = prompt();
    const int count = tokens();
    HttpClient client(port_);
    client.send(text("/v1/completions", body(prompted, count)));
    const auto response = client.read();
    judge(response.body,
          response.status == 200 && response.json()["choices"][0]["text"] ==
                                        expected_text(prompted, static_cast<std::uint32_t>(count)));
  }
  void streamed() {
    const std::string prompted = prompt();
    const int count = tokens();
    json request = body(prompted, count);
    request["stream"] = true;
    HttpClient client(port_);
    client.send(text("/v1/completions", request));
    if (client.read_header().status == 500) {  // the target has failed before the first token
      ++failed_;
      return;
    }
    std::string all;
    std::string streamed;
    while (const auto event = client.next_event()) {
      all += *event;
      const json chunk = *event == "[DONE]" ? json() : json::parse(*event);
      if (chunk.contains("choices")) streamed += chunk["choices"][0]["text"];
    }
    judge(all, streamed == expected_text(prompted, static_cast<std::uint32_t>(count)));
  }
  void in_chunks() {
    const std::string bytes = body("chunked", 5).dump();
    std::string request = "POST /v1/completions HTTP/1.1\r\nHost: x\r\n";
    for (const auto& [name, value] : headers_) request += name + ": " + value + "\r\n";
    request += "Transfer-Encoding: chunked\r\n\r\n";
    for (const char byte : bytes) request += std::string("1;a=b\r\n") + byte + "\r\n";
    HttpClient client(port_);
    client.send(request + "0\r\n\r\n");
    const auto response = client.read();
    judge(response.body, response.status == 200 &&
                             response.json()["choices"][0]["text"] == expected_text("chunked", 5));
  }
  void half_closed() {
    HttpClient client(port_);
    client.send(text("/v1/completions", body("half", 9)));
    client.close_sending_side();
    const std::string answer = client.read_to_end();
    judge(answer, answer.find(expected_text("half", 9)) != std::string::npos);
  }
  void spoiled() {
    json request = body(prompt(), tokens());
    const std::vector<std::pair<const char*, json>> faults{
        {"temperature", 3}, {"max_tokens", 0},   {"priority", "urgent"},      {"top_p", 1.5},
        {"session", -1},    {"prompt", nullptr}, {"stop", json::array({""})}, {"no_such_field", 1},
        {"stream", "yes"}};
    const auto& [field, value] = faults[dice(static_cast<unsigned>(faults.size()))];
    request[field] = value;
    HttpClient client(port_);
    client.send(text("/v1/completions", request));
    const auto response = client.read();
    expect(response.status == 400 && response.json()["error"]["param"] == field, response.body);
  }
  void not_http() {
    std::string noise;
    for (unsigned i = dice(40); i > 0; --i) noise += static_cast<char>(1 + dice(255));
    HttpClient client(port_);
    client.send("\x16" + noise + "\r\n\r\n");
    const auto response = client.read();
    expect(response.status >= 400, response.body);
  }
  void leaves_early() {
    json request = body(prompt(), 150);
    request["stream"] = true;
    HttpClient::Headers headers = headers_;
    headers.emplace_back("Connection", "close");  // an error may be shorter than what is read
    HttpClient client(port_);
    client.send(HttpClient::text("POST", "/v1/completions", request.dump(), headers));
    if (dice(2) == 0) client.read_bytes(1 + dice(2000));
    leave(client, dice(2) == 0);
  }

  std::uint16_t port_;
  std::mt19937 random_;
  HttpClient::Headers headers_;
  int right_ = 0;
  int wrong_ = 0;
  int failed_ = 0;
};

}  // namespace forge::test
