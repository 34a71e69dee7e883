// POST /forge/v1/batch: its lines become tokens side by side, and are submitted in their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <sstream>

#include "serve/test_server.h"
#include "serve/wrapped_tokenizer.h"
#include "tokenizer_worker.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

/// A tokenizer of bytes that waits within a text until `may_go_on` says so of that text and of how
/// many have come and gone.
class WaitingTokenizer final : public WrappedTokenizer {
 public:
  using MayGoOn = std::function<bool(std::string_view text, std::size_t come, std::size_t gone)>;

  explicit WaitingTokenizer(MayGoOn may_go_on) : may_go_on_(std::move(may_go_on)) {}

  text::EncodedText encode(std::string_view text, text::EncodeOptions options) const override {
    std::unique_lock lock(mutex_);
    ++come_;
    changed_.notify_all();
    const bool goes_on = changed_.wait_for(lock, std::chrono::minutes(1),
                                           [&] { return may_go_on_(text, come_, gone_); });
    EXPECT_TRUE(goes_on) << text;
    ++gone_;
    changed_.notify_all();
    if (text == "none") return tl::unexpected(text::MissingByte{'n'});
    return WrappedTokenizer::encode(text, options);
  }

 private:
  MayGoOn may_go_on_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::size_t come_ = 0;
  mutable std::size_t gone_ = 0;
};

/// The answers to lines of these prompts, as they come: "prompt status".
std::vector<std::string> answers(const WaitingTokenizer& tokenizer,
                                 const std::vector<std::string>& prompts) {
  const TestServer server({.tokenizer = &tokenizer});
  std::string lines;
  for (const std::string& prompt : prompts) {
    lines += json({{"custom_id", prompt}, {"body", completion(prompt, 1)}}).dump() + "\n";
  }
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", "/forge/v1/batch", lines));
  std::istringstream body(client.read().body);
  std::vector<std::string> said;
  for (std::string line; std::getline(body, line);) {
    const json answer = json::parse(line);
    said.push_back(answer["custom_id"].get<std::string>() + " " +
                   answer["response"]["status_code"].dump());
  }
  return said;
}

TEST(HttpBatchTokenizer, has_as_many_lines_at_once_as_threads) {
  static_assert(serve::TokenizerWorker::kBatchThreads == 4);
  const WaitingTokenizer tokenizer(
      [](std::string_view, std::size_t come, std::size_t) { return come >= 4; });
  EXPECT_THAT(answers(tokenizer, {"a", "b", "c", "d"}), ::testing::SizeIs(4));
}

TEST(HttpBatchTokenizer, lines_are_submitted_in_their_order) {
  const WaitingTokenizer tokenizer([](std::string_view text, std::size_t, std::size_t gone) {
    return text != "slow" || gone == 3;
  });
  EXPECT_THAT(answers(tokenizer, {"slow", "b", "c", "d"}),
              ElementsAre("slow 200", "b 200", "c 200", "d 200"));
}

TEST(HttpBatchTokenizer, a_line_that_has_no_tokens_takes_no_other_along) {
  const WaitingTokenizer tokenizer([](std::string_view text, std::size_t, std::size_t gone) {
    return text != "none" || gone >= 2;
  });
  EXPECT_THAT(answers(tokenizer, {"a", "none", "c", "d"}),
              ::testing::UnorderedElementsAre("a 200", "none 400", "c 200", "d 200"));
}

TEST(HttpBatchTokenizer, a_client_that_goes_away_leaves_no_line_behind) {
  std::atomic<bool> has_gone = false;
  const WaitingTokenizer tokenizer(
      [&](std::string_view text, std::size_t, std::size_t) { return text == "last" || has_gone; });
  TestServer server({.tokenizer = &tokenizer});
  {
    HttpClient client(server.port());
    std::string lines;
    for (const char* prompt : {"a", "b", "c"}) {
      lines += json({{"custom_id", prompt}, {"body", completion(prompt, 1)}}).dump() + "\n";
    }
    client.send(HttpClient::text("POST", "/forge/v1/batch", lines));
    EXPECT_EQ(client.read_header().status, 200U);
  }
  has_gone = true;
  HttpClient other(server.port());
  EXPECT_EQ(other.post("/v1/completions", completion("last", 1)).status, 200U);
  EXPECT_TRUE(server->eventually_idle());
}

}  // namespace
}  // namespace forge::test
