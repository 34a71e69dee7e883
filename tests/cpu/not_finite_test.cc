// Logits that are not finite end the request that they are of, at the same place with any drafts;
// who runs before, beside and after it has the tokens of a run alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "executor/driver.h"
#include "forge/cpu/cpu_executor.h"
#include "forge/engine/engine.h"

namespace forge::cpu {
namespace {

using testing::request_of;

/// Another model, but that after a token of `after` logits are what `damage` makes of them; of its
/// first layers too if `drafts_too`.
class DamagedModel : public CpuModel {
 public:
  struct Damage {
    std::optional<TokenId> after;  ///< none: always
    void (*damage)(std::span<float>) = nullptr;
    bool drafts_too = true;
  };

  DamagedModel(std::unique_ptr<CpuModel> model, const Damage& damage)
      : model_(std::move(model)), damage_(damage) {}

  int vocabulary_size() const override { return model_->vocabulary_size(); }
  int layers() const override { return model_->layers(); }
  void copy(const BlockCopy& copy) override { model_->copy(copy); }
  void forward(const model::ForwardBatch& batch, int layers, std::span<float> logits) override {
    model_->forward(batch, layers, logits);
    if (layers < model_->layers() && !damage_.drafts_too) return;
    const auto vocabulary = static_cast<std::size_t>(vocabulary_size());
    for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
      const TokenId token = batch.tokens[batch.logit_rows[i]];
      if (damage_.after && token != *damage_.after) continue;
      damage_.damage(logits.subspan(i * vocabulary, vocabulary));
    }
  }

 private:
  std::unique_ptr<CpuModel> model_;
  Damage damage_;
};

void all_nan(std::span<float> row) { std::ranges::fill(row, NAN); }
void all_minus_infinity(std::span<float> row) { std::ranges::fill(row, -INFINITY); }
void last_nan(std::span<float> row) { row.back() = NAN; }
void one_infinity(std::span<float> row) { row[row.size() / 3] = INFINITY; }

executor::ExecutorOptions options_of(std::uint32_t drafts) {
  return {.cache = {.num_blocks = 200, .block_size = 4}, .drafts = drafts};
}

std::unique_ptr<CpuModel> reference(const executor::ExecutorOptions& options) {
  return seeded_cpu_model({}, options);
}

/// What became of a request.
struct Fate {
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::none;
  std::vector<Slice> failed;  ///< slices with FinishSignal::not_finite
};

/// Runs requests on an engine over a model, each submitted before the step that it names.
class EngineRun {
 public:
  EngineRun(std::unique_ptr<CpuModel> model, const executor::ExecutorOptions& options,
            std::unique_ptr<CpuModel> draft = nullptr)
      : executor_(options, std::move(model), std::move(draft)),
        engine_({.cache = options.cache, .batch = {.max_batch_size = 8}, .prefill_chunk_size = 5},
                executor_) {}

  std::map<std::size_t, Fate> until_done(const std::vector<std::pair<int, Request>>& requests) {
    std::map<SeqId, std::size_t> index_of;
    std::map<std::size_t, Fate> fates;
    std::size_t next = 0;
    for (int step = 0; next < requests.size() || engine_.has_work(); ++step) {
      while (next < requests.size() && requests[next].first <= step) {
        index_of[engine_.submit(requests[next].second).value()] = next;
        ++next;
      }
      const engine::Engine::Step done = engine_.step();
      for (std::size_t i = 0; i < done.result.slices.size(); ++i) {
        const SliceResult& answer = done.result.slices[i];
        Fate& fate = fates[index_of[answer.seq]];
        const auto tokens = done.result.tokens_of(answer);
        fate.tokens.insert(fate.tokens.end(), tokens.begin(), tokens.end());
        if (answer.signal != FinishSignal::not_finite) continue;
        EXPECT_TRUE(done.plan.slices[i].samples);
        EXPECT_EQ(answer.token_count, 0u);
        fate.failed.push_back(done.plan.slices[i]);
      }
      for (const Finish& finish : done.plan.finished) {
        fates[index_of[finish.seq]].finish = finish.reason;
      }
    }
    return fates;
  }

 private:
  CpuExecutor executor_;
  engine::Engine engine_;
};

Request story(const char* prompt, float temperature = 0) {
  Request request = request_of(prompt, temperature, 5);
  request.max_new_tokens = 24;
  return request;
}

std::vector<TokenId> tokens_alone(const Request& request) {
  const executor::ExecutorOptions options = options_of(0);
  return EngineRun(reference(options), options).until_done({{0, request}}).at(0).tokens;
}

bool has(const std::vector<TokenId>& tokens, TokenId token) {
  return std::ranges::find(tokens, token) != tokens.end();
}

/// Requests, one of which meets damaged logits after the token that it generates as its seventh or
/// later, and no other meets.
struct Scene {
  explicit Scene(float temperature) {
    for (const char* const prompt :
         {"who comes before", "the one at fault", "who runs beside it", "who comes after"}) {
      requests.push_back(story(prompt, temperature));
      expected.push_back(tokens_alone(requests.back()));
    }
    const std::vector<TokenId>& text = expected[kAtFault];
    for (at = 6; at + 1 < text.size(); ++at) {
      if (std::ranges::find(text, text[at]) - text.begin() < static_cast<std::ptrdiff_t>(at)) {
        continue;
      }
      const bool elsewhere = std::ranges::any_of(requests, [&](const Request& request) {
        const auto index = static_cast<std::size_t>(&request - requests.data());
        return has(request.prompt, text[at]) ||
               (index != kAtFault && has(expected[index], text[at]));
      });
      if (!elsewhere) break;
    }
    EXPECT_LT(at + 1, text.size()) << "no token of its own";
  }

  TokenId trigger() const { return expected[kAtFault][at]; }

  static constexpr std::size_t kAtFault = 1;
  std::vector<Request> requests;
  std::vector<std::vector<TokenId>> expected;
  std::size_t at = 0;  ///< the index of the trigger in the output of the request at fault
};

class NotFinite : public ::testing::TestWithParam<std::tuple<float, std::uint32_t>> {};

TEST_P(NotFinite, logits_end_their_own_request_alone_where_its_text_meets_them) {
  const auto [temperature, drafts] = GetParam();
  const Scene scene(temperature);
  for (const auto damage : {all_nan, all_minus_infinity, last_nan, one_infinity}) {
    for (const bool drafts_too : {false, true}) {
      const executor::ExecutorOptions options = options_of(drafts);
      EngineRun run(
          std::make_unique<DamagedModel>(reference(options),
                                         DamagedModel::Damage{scene.trigger(), damage, drafts_too}),
          options);
      const auto fates = run.until_done({{0, scene.requests[0]},
                                         {2, scene.requests[1]},
                                         {2, scene.requests[2]},
                                         {60, scene.requests[3]}});
      for (std::size_t i = 0; i < scene.requests.size(); ++i) {
        if (i == Scene::kAtFault) continue;
        EXPECT_EQ(fates.at(i).tokens, scene.expected[i]) << i;
        EXPECT_EQ(fates.at(i).finish, FinishReason::length) << i;
        EXPECT_TRUE(fates.at(i).failed.empty()) << i;
      }
      const Fate& fault = fates.at(Scene::kAtFault);
      EXPECT_EQ(fault.finish, FinishReason::error);
      const auto& text = scene.expected[Scene::kAtFault];
      EXPECT_EQ(fault.tokens,
                std::vector(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(scene.at) + 1))
          << "as far as the text goes, whatever was drafted";
      ASSERT_EQ(fault.failed.size(), 1u);
      const Slice& slice = fault.failed.front();
      EXPECT_EQ(slice.first + slice.count - slice.drafts,
                scene.requests[Scene::kAtFault].prompt.size() + scene.at + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NotFinite,
                         ::testing::Combine(::testing::Values(0.0F, 1.0F),
                                            ::testing::Values(0U, 1U, 4U)));

TEST(NotFiniteDrafts, of_the_first_layers_or_of_a_draft_model_change_no_text) {
  const Request request = story("a draft is only a draft");
  const executor::ExecutorOptions options = options_of(4);
  EngineRun run(reference(options), options,
                std::make_unique<DamagedModel>(reference(options),
                                               DamagedModel::Damage{std::nullopt, all_nan, true}));
  const Fate fate = run.until_done({{0, request}}).at(0);
  EXPECT_EQ(fate.tokens, tokens_alone(request));
  EXPECT_EQ(fate.finish, FinishReason::length);
}

}  // namespace
}  // namespace forge::cpu
