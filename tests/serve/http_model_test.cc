// The server over the real model.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

/// A target that starts when it is told to, so that requests can gather before.
class GatedExecutor : public Executor {
 public:
  explicit GatedExecutor(const executor::ExecutorOptions& options)
      : executor_(options, cpu::seeded_cpu_model({}, options)) {}

  void open() { gate_.set_value(); }

  void begin(SeqId seq, const Request& request) override { executor_.begin(seq, request); }
  std::optional<std::string> refuses(const Request& request) const override {
    return executor_.refuses(request);
  }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    opened_.wait();
    return executor_.execute(plan, result);
  }

 private:
  cpu::CpuExecutor executor_;
  std::promise<void> gate_;
  std::future<void> opened_ = gate_.get_future();
};

/// The answers to `bodies`, sent all at once on connections of their own. Calls `sent` when the
/// server has them all.
std::vector<std::string> texts(
    RunningServer& server, const std::vector<json>& bodies,
    const std::function<void()>& sent = [] {}) {
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (const json& body : bodies) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->send(HttpClient::text("/v1/completions", body));
  }
  sent();
  std::vector<std::string> out;
  for (const auto& client : clients) {
    client->read_header();
    out.emplace_back();
    while (auto event = client->next_event()) {
      if (*event != "[DONE]") out.back() += json::parse(*event)["choices"][0]["text"];
    }
  }
  return out;
}

std::vector<json> requests() {
  std::vector<json> bodies;
  for (int i = 0; i < 32; ++i) {
    json body = stream("Request " + std::to_string(i), 24);
    body["temperature"] = i % 2 == 0 ? 0.0 : 0.9;
    body["seed"] = i;
    bodies.push_back(body);
  }
  return bodies;
}

TEST(HttpModel, a_text_depends_on_its_request_alone) {
  cpu::CpuExecutor roomy({}, cpu::seeded_cpu_model({}, {}));
  RunningServer alone(roomy, {});
  std::vector<std::string> expected;
  for (const json& body : requests()) expected.push_back(texts(alone, {body}).front());

  // So little memory that sequences are preempted, by swap while the host has room; drafts besides.
  const TestServerOptions options{
      .scheduler = {.cache = {.num_blocks = 24, .block_size = 4, .num_host_blocks = 12},
                    .batch = {.max_batch_size = 8},
                    .prefill_chunk_size = 5,
                    .preemption = PreemptionPolicy::swap}};
  GatedExecutor cramped({.cache = {.num_blocks = 24, .block_size = 4, .num_host_blocks = 12},
                         .drafts = 3,
                         .check_kv = true});
  RunningServer crowded(cramped, options);
  const auto open_when_all_are_queued = [&] {
    // No step ends before the gate opens, so all that has been submitted counts as waiting.
    while (crowded.loop().status().waiting < requests().size()) std::this_thread::yield();
    cramped.open();
  };
  EXPECT_EQ(texts(crowded, requests(), open_when_all_are_queued), expected);
  EXPECT_GT(crowded.loop().status().swaps, 0U);
  EXPECT_GT(crowded.loop().status().preemptions, crowded.loop().status().swaps);
  EXPECT_GT(crowded.loop().status().prefix_cache.hits, 0U);
  EXPECT_TRUE(crowded.eventually_idle());
}

}  // namespace
}  // namespace forge::test
