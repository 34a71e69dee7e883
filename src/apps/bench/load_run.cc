#include "load_run.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <utility>

#include "forge/core/quoted.h"
#include "http_stream.h"
#include "sse_reader.h"

namespace forge::apps {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using Clock = std::chrono::steady_clock;
using Parser = http::response_parser<http::string_body>;
using Json = nlohmann::json;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadBytes = 65536;
constexpr std::uint64_t kArrivalSeed = 20261128;

/// A connection, and what has been read from it too far.
struct Link {
  std::unique_ptr<HttpStream> stream;
  std::string bytes;
  std::vector<char> room = std::vector<char>(kReadBytes);
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, const Workload& workload,
          const std::function<bool(std::size_t)>& go_on)
      : options_(options),
        workload_(workload),
        go_on_(go_on),
        due_timer_(io_),
        ended_timer_(io_),
        watch_timer_(io_) {}

  tl::expected<LoadResult, std::string> run() {
    std::string failure;
    asio::co_spawn(io_, run_all(), [&](const std::exception_ptr& error) {
      watch_timer_.cancel();
      if (error) failure = text_of(error);
    });
    asio::co_spawn(io_, watch(), asio::detached);
    io_.run();
    if (!failure.empty()) {
      return tl::unexpected("no answer from " + to_string(options_.url.address) + ": " + failure);
    }
    result_.interrupted = interrupted_;
    std::erase_if(result_.requests, [this](const LoadRequest& request) {
      return interrupted_ && request.error == kUnderWay;
    });
    return std::move(result_);
  }

 private:
  static constexpr const char* kUnderWay = "under way";

  static std::string text_of(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const boost::system::system_error& failed) {
      return failed.code().message();
    } catch (const std::exception& failed) {
      return failed.what();
    }
  }

  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Tells how far the run is, and ends it when it is told to.
  asio::awaitable<void> watch() {
    while (!interrupted_) {
      watch_timer_.expires_after(std::chrono::milliseconds(100));
      const auto [cancelled] = co_await watch_timer_.async_wait(kAsTuple);
      const bool goes_on = go_on_(ended_);
      if (cancelled) co_return;
      if (!goes_on) interrupted_ = true;
    }
    io_.stop();
  }

  asio::awaitable<void> run_all() {
    result_.model = options_.model;
    if (result_.model.empty()) result_.model = co_await first_model();
    result_.requests.reserve(workload_.size());
    begin_ = Clock::now();
    if (options_.kind == LoadKind::closed) {
      const std::size_t clients = std::min<std::size_t>(options_.concurrency, workload_.size());
      for (std::size_t i = 0; i < clients; ++i) asio::co_spawn(io_, be_client(), asio::detached);
    } else {
      co_await send_when_due();
    }
    while (ended_ < workload_.size()) {
      ended_timer_.expires_at(Clock::time_point::max());
      co_await ended_timer_.async_wait(kAsTuple);
    }
    for (const LoadRequest& request : result_.requests) {
      result_.seconds = std::max(result_.seconds, request.last);
    }
  }

  asio::awaitable<std::unique_ptr<HttpStream>> connect() const {
    return HttpStream::connect(options_.url, options_.any_certificate
                                                 ? HttpStream::Certificate::any
                                                 : HttpStream::Certificate::trusted);
  }

  asio::awaitable<std::string> first_model() {
    Link link;
    link.stream = co_await connect();
    co_await link.stream->write("GET /v1/models HTTP/1.1\r\n" + headers() + "\r\n");
    Parser parser;
    while (!parser.is_done()) co_await read(link, parser);
    const std::string& body = parser.get().body();
    const Json answer = Json::parse(body, nullptr, false);
    const auto id = Json::json_pointer("/data/0/id");
    if (parser.get().result_int() != 200 || !answer.contains(id) || !answer[id].is_string()) {
      throw std::runtime_error("GET /v1/models: HTTP " + std::to_string(parser.get().result_int()) +
                               " " + in_quotes(body.substr(0, 200)) + "; --served-model names one");
    }
    co_return answer[id];
  }

  /// Sends one request after the other.
  asio::awaitable<void> be_client() {
    while (next_ < workload_.size()) {
      const std::size_t index = next_++;
      const std::string text = request_text(index);
      co_await send(begin_request(index, now()), text);
    }
  }

  /// Sends each request at its time, whatever has become of those before.
  asio::awaitable<void> send_when_due() {
    std::mt19937_64 random(kArrivalSeed);
    std::exponential_distribution<double> gap(options_.rate > 0 ? options_.rate : 1);
    double due = 0;
    for (std::size_t i = 0; i < workload_.size(); ++i) {
      const std::string text = request_text(i);
      if (options_.kind == LoadKind::recorded) {
        due = static_cast<double>(workload_[i].arrival_us) * 1e-6;
      } else if (i > 0) {
        due += gap(random);
      }
      due_timer_.expires_at(
          begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due)));
      co_await due_timer_.async_wait(kAsTuple);
      asio::co_spawn(io_, send(begin_request(i, due), text), asio::detached);
    }
  }

  std::size_t begin_request(std::size_t index, double due) {
    result_.requests.push_back(
        {.due = due, .prompt_tokens = workload_[index].prompt_tokens, .error = kUnderWay});
    return result_.requests.size() - 1;
  }

  std::string headers() const {
    std::string text = "Host: " + options_.url.host() + "\r\n";
    if (!options_.api_key.empty()) text += "Authorization: Bearer " + options_.api_key + "\r\n";
    return text;
  }

  std::string request_text(std::size_t index) const {
    const Request request = make_request(workload_[index], index);
    Json prompt = Json::array();
    for (const TokenId token : request.prompt) prompt.push_back(token.value);
    const std::string body = Json{{"model", result_.model},
                                  {"prompt", std::move(prompt)},
                                  {"max_tokens", request.max_new_tokens},
                                  {"temperature", 0},
                                  {"ignore_eos", true},
                                  {"stream", true},
                                  {"stream_options", {{"include_usage", true}}}}
                                 .dump();
    return "POST /v1/completions HTTP/1.1\r\n" + headers() +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  /// Sends a request and reads its answer, over a connection that is left or a new one.
  asio::awaitable<void> send(std::size_t place, std::string text) {
    std::string error;
    try {
      Link link;
      const bool is_used = !links_.empty();
      if (is_used) {
        link = std::move(links_.back());
        links_.pop_back();
      } else {
        link.stream = co_await connect();
      }
      bool begun = co_await exchange(place, text, link, error);
      if (!begun && is_used) {  // the server has ended the connection meanwhile
        link = Link();
        link.stream = co_await connect();
        begun = co_await exchange(place, text, link, error);
      }
      if (!begun) error = "the connection was closed before an answer";
    } catch (...) {
      error = text_of(std::current_exception());
    }
    result_.requests[place].error = std::move(error);
    ++ended_;
    ended_timer_.cancel();
  }

  /// False: the connection has ended before the answer began.
  asio::awaitable<bool> exchange(std::size_t place, const std::string& text, Link& link,
                                 std::string& error) {
    error.clear();
    Parser parser;
    parser.body_limit(boost::none);
    SseReader events;
    bool is_done = false;
    try {
      co_await link.stream->write(text);
      co_await read(link, parser);
    } catch (const boost::system::system_error&) {
      co_return false;
    }
    for (;;) {
      if (parser.is_header_done() && parser.get().result_int() == 200) {
        const double time = now();
        events.put(parser.get().body(), [&](std::string_view data) {
          is_done = is_done || data == "[DONE]";
          if (error.empty() && !is_done) take_event(place, data, time, error);
        });
        parser.get().body().clear();
      }
      if (parser.is_done()) break;
      co_await read(link, parser);
    }
    if (parser.get().result_int() != 200) {
      error = "HTTP " + std::to_string(parser.get().result_int()) + " " + parser.get().body();
    } else if (error.empty() && !is_done) {
      error = "the stream ended before its end";
    } else if (error.empty() && !result_.requests[place].first) {
      error = "the stream had no token";
    }
    LoadRequest& request = result_.requests[place];
    if (request.output_tokens == 0) request.output_tokens = request.events;  // the server says none
    if (parser.keep_alive()) links_.push_back(std::move(link));
    co_return true;
  }

  void take_event(std::size_t place, std::string_view data, double time, std::string& error) {
    LoadRequest& request = result_.requests[place];
    if (data.starts_with(R"({"error")")) {
      error = data;
      return;
    }
    if (contains(data, R"("usage":{)") || contains(data, R"("usage": {)")) {
      const Json answer = Json::parse(data, nullptr, false);
      const Json::json_pointer tokens("/usage/completion_tokens");
      if (answer.contains(tokens) && answer[tokens].is_number_unsigned()) {
        request.output_tokens = answer[tokens];
      }
    }
    if (!contains(data, R"("choices":[])") && !contains(data, R"("choices": [])")) {
      if (request.first) request.gaps.push_back(static_cast<float>(time - request.last));
      if (!request.first) request.first = time;
      request.last = time;
      ++request.events;
    }
  }

  asio::awaitable<void> read(Link& link, Parser& parser) const {
    if (link.bytes.empty()) {
      const std::size_t count = co_await link.stream->read_some(asio::buffer(link.room));
      link.bytes.assign(link.room.data(), count);
    }
    boost::system::error_code error;
    if (link.bytes.empty()) {
      parser.put_eof(error);
    } else {
      parser.eager(true);
      link.bytes.erase(0, parser.put(asio::buffer(link.bytes), error));
      if (error == http::error::need_more) {
        const std::size_t count = co_await link.stream->read_some(asio::buffer(link.room));
        if (count == 0) throw boost::system::system_error(http::error::partial_message);
        link.bytes.append(link.room.data(), count);
        co_return;
      }
    }
    if (error) throw boost::system::system_error(error);
  }

  const LoadOptions& options_;
  const Workload& workload_;
  const std::function<bool(std::size_t)>& go_on_;
  asio::io_context io_;
  asio::steady_timer due_timer_;
  asio::steady_timer ended_timer_;  // until one more request has ended
  asio::steady_timer watch_timer_;
  std::vector<Link> links_;  // connections that wait for a request
  Clock::time_point begin_;
  std::size_t next_ = 0;   // request of a client
  std::size_t ended_ = 0;  // requests
  bool interrupted_ = false;
  LoadResult result_;
};

}  // namespace

tl::expected<LoadResult, std::string> run_load(const LoadOptions& options, const Workload& workload,
                                               const std::function<bool(std::size_t)>& go_on) {
  return LoadRun(options, workload, go_on).run();
}

}  // namespace forge::apps
