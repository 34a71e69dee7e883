// A long day of a server: everything that clients ask for, right and wrong, slow and rude, with a
// key and without, while the target fails now and then, or is lost and opened again. Afterwards
// nothing is missing and nothing is left: every request was answered, memory and descriptors are
// what they were.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "serve/proof.h"
#include "serve/storm_client.h"
#include "serve/test_server.h"
#include "serve/websocket_client.h"

namespace forge::test {
namespace {

using nlohmann::json;

std::size_t open_descriptors() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Entries("/proc/self/fd"), Entries()));
}

/// Bytes of the heap that are in use, by glibc.
std::size_t used_bytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

/// A StormClient that looks at everything else, too.
class SoakClient {
 public:
  SoakClient(std::uint16_t port, unsigned seed, const std::string& key)
      : port_(port), storm_(port, seed, key) {}

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      switch (storm_.dice(12)) {
        case 0:
          looks_around();
          break;
        case 1:
          has_no_key();
          break;
        case 2:
          reads_slowly();
          break;
        case 3:
          chats();
          break;
        case 4:
          sends_a_batch();
          break;
        case 5:
          asks_on_a_socket();
          break;
        default:
          storm_.request();
      }
    }
  }

  const StormClient& counts() const { return storm_; }

 private:
  void looks_around() {
    const std::vector<std::string> paths{"/health",  "/health/live",   "/v1/models",
                                         "/version", "/ping",          "/nothing",
                                         "/metrics", "/forge/v1/trace"};
    const std::string& path = paths[storm_.dice(static_cast<unsigned>(paths.size()))];
    HttpClient client(port_);
    client.send(HttpClient::text("GET", path, "", storm_.headers()));
    const auto response = client.read();
    const bool for_operators = path == "/metrics" || path == "/forge/v1/trace";
    storm_.expect(response.status == (path == "/nothing" ? 404U
                                      : for_operators    ? 403U
                                                         : 200U),
                  response.body);
  }
  void has_no_key() {
    HttpClient client(port_);
    client.send(HttpClient::text("POST", "/v1/completions", completion("x", 3).dump(),
                                 {{"Authorization", "Bearer " + std::to_string(storm_.dice(99))}}));
    const auto response = client.read();
    storm_.expect(response.status == 401, response.body);
  }
  void reads_slowly() {
    HttpClient client(port_, 2048);
    HttpClient::Headers headers = storm_.headers();
    headers.emplace_back("Connection", "close");
    client.send(HttpClient::text("POST", "/v1/completions", stream("slow", 60).dump(), headers));
    for (unsigned i = storm_.dice(40); i > 0; --i) client.read_bytes(1 + storm_.dice(64));
    client.read_to_end();
  }
  void chats() {
    HttpClient client(port_);
    client.send(storm_.text("/v1/chat/completions",
                            {{"model", "fake"},
                             {"max_tokens", 4},
                             {"messages", json::array({{{"role", "user"}, {"content", "hi"}}})}}));
    const auto response = client.read();
    storm_.expect(
        response.status == 200 || response.body.find("the target failed") != std::string::npos,
        response.body);
  }
  /// Good lines and bad ones; each is answered by a line. Now and then it leaves before that.
  void sends_a_batch() {
    std::string lines;
    const unsigned count = 1 + storm_.dice(6);
    for (unsigned i = 0; i < count; ++i) {
      const json body = storm_.dice(4) == 0 ? json{{"nothing", 1}} : completion("batch", 3);
      lines += json({{"custom_id", std::to_string(i)}, {"body", body}}).dump() + "\n";
    }
    HttpClient client(port_);
    client.send(HttpClient::text("POST", "/forge/v1/batch", lines, storm_.headers()));
    if (storm_.dice(4) == 0) return leave(client, storm_.dice(2) == 0);
    const auto response = client.read();
    const auto answers = std::ranges::count(response.body, '\n');
    storm_.expect(response.status == 200 && answers == count, response.body);
  }
  /// Several requests at once, some taken back; each ends once. Now and then it leaves before that.
  void asks_on_a_socket() {
    WebSocketClient client(port_, storm_.headers());
    const unsigned count = 1 + storm_.dice(6);
    for (unsigned i = 0; i < count; ++i) {
      const std::string prompt = "socket " + std::to_string(i);
      client.ask(std::to_string(i), "/v1/completions",
                 storm_.dice(2) == 0 ? stream(prompt, 9) : completion(prompt, 9));
    }
    if (storm_.dice(2) == 0) client.cancel(std::to_string(storm_.dice(count)));
    if (storm_.dice(4) == 0) return leave(client.bytes(), storm_.dice(2) == 0);
    std::multiset<std::string> ended;
    while (ended.size() < count) {
      const json message = client.next();
      if (!message.contains("chunk")) ended.insert(message["id"].get<std::string>());
    }
    for (unsigned i = 0; i < count; ++i) {
      storm_.expect(ended.count(std::to_string(i)) == 1, "of " + std::to_string(i));
    }
    client.close();
  }

  std::uint16_t port_;
  StormClient storm_;
};

/// Loses the target, over and over.
class Losses {
 public:
  explicit Losses(TestServer& server)
      : thread_([this, &server] {
          for (std::uint64_t steps = 0; !done_;) {
            const std::uint64_t now = server.loop().status().steps;
            if (now >= steps + 400) {
              server.executor.lose();
              steps = now;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~Losses() {
    done_ = true;
    thread_.join();
  }
  Losses(const Losses&) = delete;
  Losses& operator=(const Losses&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

class HttpSoak : public ::testing::Test {
 protected:
  static constexpr int kClients = 10;

  HttpSoak() : server_(options(key_.line)) {
    server_.executor.drafts = 2;
    for (std::uint64_t step = 89; step < 1'000'000; step += 211) {
      server_.executor.failing_steps.insert(step);
    }
  }

  /// Everybody at once, so many requests each.
  void soak(int requests, unsigned seed) {
    std::vector<SoakClient> clients;
    for (unsigned i = 0; i < kClients; ++i) {
      clients.emplace_back(server_.port(), seed * 1000 + i, key_.key);
    }
    {
      const Losses losses(server_);
      std::vector<std::thread> threads;
      for (SoakClient& client : clients) {
        threads.emplace_back([&client, requests] { client.run(requests); });
      }
      for (std::thread& thread : threads) thread.join();
    }
    for (const SoakClient& client : clients) {
      wrong_ += client.counts().wrong();
      failed_ += client.counts().failed();
    }
    forget();
  }

  /// What clients may leave behind on purpose.
  void forget() {
    for (unsigned session = 0; session < StormClient::kSessions; ++session) {
      ask("DELETE", "/forge/v1/sessions/" + std::to_string(session));
    }
    ASSERT_TRUE(server_->eventually_idle());
  }

  void ask(const std::string& method, const std::string& path) {
    HttpClient client(server_.port());
    client.send(HttpClient::text(
        method, path, "", {{"Authorization", "Bearer " + key_.key}, {"Connection", "close"}}));
    client.read_to_end();
  }

  static TestServerOptions options(const std::string& keys) {
    return {.scheduler = {.cache = {.num_blocks = 96, .block_size = 4, .num_host_blocks = 16},
                          .batch = {.max_batch_size = 6}},
            .on_target_lost = engine::OnTargetLost::reopen,
            .http = {.idle_timeout = std::chrono::milliseconds(10'000)},
            .keys = serve::ApiKeys::parse(keys).value()};
  }

  const serve::NewKey key_ = serve::make_key("soak:client").value();
  TestServer server_;
  int wrong_ = 0;
  int failed_ = 0;
};

TEST_F(HttpSoak, loses_no_request_and_leaves_nothing_behind) {
  const auto seed = static_cast<unsigned>(proof_seed().value_or(1));
  const int requests = proof_seed() ? 1250 : 40;  // of each client
  soak(requests / 4, seed);                       // buffers have grown, connections have been many
  const std::size_t descriptors = open_descriptors();
  const std::size_t bytes = used_bytes();
  soak(requests - requests / 4, seed + 100);
  EXPECT_EQ(wrong_, 0);
  const std::uint64_t reopens = server_.loop().status().reopens;
  const auto growth = static_cast<std::int64_t>(used_bytes()) - static_cast<std::int64_t>(bytes);
  std::cout << "failed " << failed_ << ", opened again " << reopens << " times, heap grown by "
            << growth << " bytes, descriptors " << descriptors << " and " << open_descriptors()
            << "\n[  CASES   ] " << requests * kClients << '\n';
  EXPECT_TRUE(server_->eventually([&](const engine::EngineStatus&) {
    return open_descriptors() <= descriptors;
  })) << "descriptors: "
      << open_descriptors() << " after " << descriptors;
  if (proof_seed()) {
    EXPECT_GT(failed_, 0);
    EXPECT_GT(reopens, 0U);
    EXPECT_LE(growth, 256 << 10);
  }
}

}  // namespace
}  // namespace forge::test
