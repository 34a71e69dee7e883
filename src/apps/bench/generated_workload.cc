#include "generated_workload.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <queue>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"

namespace forge::apps {
namespace {

constexpr std::uint32_t kSystemPrompts = 16;
/// A multiple of 1 .. 16.
constexpr std::uint32_t kMultiple = 720'720;
constexpr float kTurnsGoOn = 0.75F;
constexpr float kDocumentShare = 0.15F;
constexpr float kMeanTurns = 1 / (1 - kTurnsGoOn);
/// Most hash ids of one conversation or document.
constexpr std::uint64_t kIdsMax = 4096;

/// Limits of a length in tokens, and its mean above the lower one.
struct Lengths {
  std::uint32_t least = 1;
  std::uint32_t mean = 1;
  std::uint32_t most = 1;
};

constexpr Lengths kMessage{.least = 12, .mean = 120, .most = 2048};
constexpr Lengths kAnswer{.least = 8, .mean = 150, .most = 1024};
constexpr Lengths kQuestion{.least = 24, .mean = 200, .most = 2048};
constexpr Lengths kDocument{.least = 2048, .mean = 4096, .most = 24'576};
constexpr Lengths kSummary{.least = 8, .mean = 60, .most = 512};
constexpr std::uint32_t kConversationTokensMax = 16'384;
constexpr float kThinkingSeconds = 20;

/// What a draw is for. The numbers are part of what a seed means.
enum class Purpose : std::uint32_t {
  arrival = 0,
  system_prompt,
  message,
  answer,
  goes_on,
  thinking,
  is_document,
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  std::uint32_t word(Purpose purpose, std::uint64_t who, std::uint32_t turn = 0) const {
    return numerics::philox(
               {{turn, static_cast<std::uint32_t>(who), static_cast<std::uint32_t>(who >> 32),
                 static_cast<std::uint32_t>(purpose)}},
               seed_)
        .x[0];
  }

  /// Between 0 and 1.
  float uniform(Purpose purpose, std::uint64_t who, std::uint32_t turn = 0) const {
    return numerics::uniform_open(word(purpose, who, turn));
  }

  /// Exponentially distributed, of mean 1.
  float exponential(Purpose purpose, std::uint64_t who, std::uint32_t turn = 0) const {
    return -numerics::log(uniform(purpose, who, turn));
  }

  std::uint32_t length(const Lengths& lengths, Purpose purpose, std::uint64_t who,
                       std::uint32_t turn = 0) const {
    const float above = exponential(purpose, who, turn) * static_cast<float>(lengths.mean);
    return std::min(lengths.least + static_cast<std::uint32_t>(above), lengths.most);
  }

 private:
  std::uint64_t seed_;
};

/// Arrivals at random: the gaps between them are exponentially distributed.
class ArrivalTimes {
 public:
  ArrivalTimes(const Draws& draws, double per_second)
      : draws_(draws), mean_ms_(1000 / per_second) {}

  /// Of the next one, in milliseconds.
  std::uint64_t next() {
    now_ms_ += mean_ms_ * static_cast<double>(draws_.exponential(Purpose::arrival, count_++));
    return static_cast<std::uint64_t>(now_ms_);
  }

 private:
  const Draws& draws_;
  double mean_ms_;
  double now_ms_ = 0;
  std::uint64_t count_ = 0;
};

std::uint32_t blocks_of(std::uint32_t tokens) {
  return (tokens + kHashBlockTokens - 1) / kHashBlockTokens;
}

/// Number n is n + 1 times as rare as number 0.
std::uint32_t system_prompt_of(std::uint32_t word) {
  std::uint32_t sum = 0;
  for (std::uint32_t n = 0; n < kSystemPrompts; ++n) sum += kMultiple / (n + 1);
  std::uint32_t left = word % sum;
  std::uint32_t n = 0;
  while (left >= kMultiple / (n + 1)) left -= kMultiple / (n++ + 1);
  return n;
}

/// Of system prompt n: 512 to 2048 tokens, whole blocks.
std::uint32_t system_blocks_of(std::uint32_t n) { return 1 + n % 4; }

/// Ids of the first `tokens` tokens of conversation `who`, its system prompt before them.
std::vector<std::uint64_t> ids_of(std::uint32_t system, std::uint64_t who, std::uint32_t tokens) {
  std::vector<std::uint64_t> ids;
  const std::uint32_t shared = system_blocks_of(system);
  for (std::uint32_t i = 0; i < blocks_of(tokens); ++i) {
    ids.push_back(i < shared ? system * std::uint64_t{kIdsMax} + i
                             : (kSystemPrompts + who) * kIdsMax + i);
  }
  return ids;
}

void add_conversation(const Draws& draws, std::uint64_t who, std::uint64_t begin_ms,
                      Workload& workload) {
  const std::uint32_t system = system_prompt_of(draws.word(Purpose::system_prompt, who));
  std::uint32_t tokens = system_blocks_of(system) * kHashBlockTokens;
  double now_ms = static_cast<double>(begin_ms);
  for (std::uint32_t turn = 0;; ++turn) {
    tokens += draws.length(kMessage, Purpose::message, who, turn);
    const std::uint32_t answer = draws.length(kAnswer, Purpose::answer, who, turn);
    if (tokens + answer > kConversationTokensMax) return;
    workload.push_back({.arrival_us = 1000 * static_cast<std::uint64_t>(now_ms),
                        .prompt_tokens = tokens,
                        .new_tokens = answer,
                        .hash_ids = ids_of(system, who, tokens)});
    if (draws.uniform(Purpose::goes_on, who, turn) > kTurnsGoOn) return;
    tokens += answer;
    now_ms += 1000 * static_cast<double>(kThinkingSeconds *
                                         (1 + draws.exponential(Purpose::thinking, who, turn)) / 2);
  }
}

/// Conversations begin until the last of the requests has come.
Workload chat(const WorkloadShape& shape) {
  const Draws draws(shape.seed);
  ArrivalTimes clock(draws, shape.rate / static_cast<double>(kMeanTurns));
  Workload workload;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> to_come;
  std::size_t come = 0;
  for (std::uint64_t who = 0;; ++who) {
    const std::uint64_t begin_ms = clock.next();
    for (; !to_come.empty() && to_come.top() <= 1000 * begin_ms; to_come.pop()) ++come;
    if (come >= shape.requests) break;
    const std::size_t before = workload.size();
    add_conversation(draws, who, begin_ms, workload);
    for (std::size_t i = before; i < workload.size(); ++i) to_come.push(workload[i].arrival_us);
  }
  std::ranges::stable_sort(workload, {}, &WorkloadItem::arrival_us);
  return workload;
}

Workload documents(const WorkloadShape& shape) {
  const Draws draws(shape.seed);
  ArrivalTimes clock(draws, shape.rate);
  Workload workload(shape.requests);
  for (std::uint64_t who = 0; who < workload.size(); ++who) {
    WorkloadItem& item = workload[who];
    const bool is_document = draws.uniform(Purpose::is_document, who) < kDocumentShare;
    item.arrival_us = 1000 * clock.next();
    item.prompt_tokens = draws.length(is_document ? kDocument : kQuestion, Purpose::message, who);
    item.new_tokens = draws.length(is_document ? kSummary : kAnswer, Purpose::answer, who);
    for (std::uint32_t i = 0; i < blocks_of(item.prompt_tokens); ++i) {
      item.hash_ids.push_back((kSystemPrompts + who) * kIdsMax + i);
    }
  }
  return workload;
}

}  // namespace

Workload generate_workload(const WorkloadShape& shape) {
  Workload workload = shape.kind == WorkloadKind::chat ? chat(shape) : documents(shape);
  workload.resize(shape.requests);
  const std::uint64_t first_us = workload.front().arrival_us;
  for (WorkloadItem& item : workload) item.arrival_us -= first_us;
  return workload;
}

void write_workload(const Workload& workload, std::ostream& out) {
  for (const WorkloadItem& item : workload) {
    out << nlohmann::ordered_json({{"timestamp", item.arrival_us / 1000},
                                   {"input_length", item.prompt_tokens},
                                   {"output_length", item.new_tokens},
                                   {"hash_ids", item.hash_ids}})
               .dump()
        << '\n';
  }
}

}  // namespace forge::apps
