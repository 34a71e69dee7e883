#include "forge/model/pass_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "model/stored_weights.h"
#include "model/transformer_runner.h"

namespace forge::model {
namespace {

using Clock = PassProfile::Clock;

linear::MachineLimits limits() {
  linear::MachineLimits limits{.read_bytes_per_s = 1e9};
  limits.peaks[0] = 2e9;  // f32
  return limits;
}

Work work(double bytes, double operations) {
  Work work{.bytes = bytes};
  work.operations[static_cast<std::size_t>(linear::Arithmetic::f32)] = operations;
  return work;
}

TEST(PassProfile, the_limit_of_an_operation_is_the_longer_one_of_reading_and_computing) {
  const auto a_second_ago = Clock::now() - std::chrono::seconds(1);
  PassProfile profile(limits());
  profile.begin_pass(3);
  profile.add(Operation::qkv, a_second_ago, work(4e9, 2e9));   // 4 s of bytes
  profile.add(Operation::qkv, a_second_ago, work(1e9, 12e9));  // 6 s of operations
  profile.end_pass();
  const OperationTotals totals = profile.totals(Operation::qkv);
  EXPECT_EQ(totals.calls, 2U);
  EXPECT_DOUBLE_EQ(totals.limit_seconds, 10);
  EXPECT_DOUBLE_EQ(totals.work.bytes, 5e9);
  EXPECT_DOUBLE_EQ(*totals.of_limit(), 10 / totals.seconds);
  EXPECT_EQ(profile.rows(), 3U);
}

TEST(PassProfile, arithmetic_without_a_peak_and_no_work_at_all_are_held_against_nothing) {
  PassProfile profile(limits());
  Work bytes_alone;
  bytes_alone.operations[static_cast<std::size_t>(linear::Arithmetic::int8)] = 1e12;
  profile.add(Operation::down, Clock::now(), bytes_alone);
  EXPECT_FALSE(profile.totals(Operation::down).of_limit());
  PassProfile without_limits;
  without_limits.add(Operation::down, Clock::now(), work(1, 1));
  EXPECT_FALSE(without_limits.totals(Operation::down).of_limit());
}

TEST(PassProfile, operations_are_counted_by_layer_and_together) {
  PassProfile profile(limits());
  profile.add(Operation::norm, Clock::now(), {});
  for (const int layer : {0, 2, 2}) {
    profile.enter(layer);
    profile.add(Operation::norm, Clock::now(), {});
  }
  EXPECT_EQ(profile.layers(), 3);
  EXPECT_EQ(profile.totals(Operation::norm, std::nullopt).calls, 1U);
  EXPECT_EQ(profile.totals(Operation::norm, 0).calls, 1U);
  EXPECT_EQ(profile.totals(Operation::norm, 1).calls, 0U);
  EXPECT_EQ(profile.totals(Operation::norm, 2).calls, 2U);
  EXPECT_EQ(profile.totals(Operation::norm, 7).calls, 0U);
  EXPECT_EQ(profile.totals(Operation::norm).calls, 4U);
}

TEST(PassProfile, the_last_operations_are_kept_one_by_one) {
  PassProfile profile;
  for (std::size_t i = 0; i < PassProfile::kSpansMax + 5; ++i) {
    profile.begin_pass(1);
    profile.add(Operation::head, Clock::now(), {});
    profile.end_pass();
  }
  const auto spans = profile.spans();
  ASSERT_EQ(spans.size(), PassProfile::kSpansMax);
  for (std::size_t i = 0; i < spans.size(); ++i) ASSERT_EQ(spans[i].pass, i + 5);
  EXPECT_EQ(profile.totals(Operation::head).calls, PassProfile::kSpansMax + 5);
}

class ProfiledTransformer : public ::testing::Test {
 protected:
  /// One pass over `count` tokens.
  PassProfile run(const Transformer& model, int count) {
    PassProfile profile(limits());
    testing::TransformerRunner runner(model, {});
    runner.scratch().workers.set_profile(&profile);
    const auto tokens =
        testing::some_tokens(static_cast<std::uint32_t>(count), 3, model.config().vocabulary_size);
    const auto sequence = runner.add(tokens, 64);
    logits_ = runner.run({{sequence, 0, static_cast<std::uint32_t>(count)}});
    EXPECT_EQ(logits_, testing::logits_alone(model, tokens));
    return profile;
  }

  std::vector<testing::Logits> logits_;
};

double operations_of(const OperationTotals& totals) {
  double sum = 0;
  for (const double count : totals.work.operations) sum += count;
  return sum;
}

TEST_F(ProfiledTransformer, each_layer_of_a_dense_model_tells_what_it_reads_and_computes) {
  constexpr int kRows = 5;
  testing::StoredWeights weights;
  linear::ThreadPool threads(1);
  const ModelConfig config = testing::wide_llama();
  const Transformer model(
      config, pack(config, weights.random(config, quant::WeightType::f32), threads).value());
  const PassProfile profile = run(model, kRows);
  EXPECT_EQ(profile.passes(), 1U);
  EXPECT_EQ(profile.rows(), 5U);
  EXPECT_EQ(profile.layers(), config.layers);
  const auto& grouped = std::get<GroupedQueryConfig>(config.attention);
  const double row_of_heads = static_cast<double>(grouped.heads) * grouped.head_size;
  const double keys_seen = kRows * (kRows + 1) / 2.0;
  double measured = 0;
  for (int layer = 0; layer < config.layers; ++layer) {
    const auto& w = model.weights().layers[static_cast<std::size_t>(layer)];
    const auto& mlp = std::get<PackedMlp>(w.mlp);
    const OperationTotals gate_up = profile.totals(Operation::gate_up, layer);
    EXPECT_EQ(gate_up.work.bytes, static_cast<double>(mlp.gate_up.bytes()));
    EXPECT_EQ(operations_of(gate_up), 2.0 * kRows * config.hidden_size * mlp.gate_up.outputs());
    const OperationTotals attention = profile.totals(Operation::attention, layer);
    EXPECT_EQ(operations_of(attention), 4 * keys_seen * row_of_heads);
    EXPECT_EQ(attention.work.bytes, kRows * 8.0 * grouped.kv_heads * grouped.head_size);
  }
  for (const PassProfile::Span& span : profile.spans()) {
    measured += std::chrono::duration<double>(span.end - span.start).count();
  }
  EXPECT_LE(measured, profile.seconds());
  EXPECT_EQ(profile.totals(Operation::head, std::nullopt).work.bytes,
            static_cast<double>(model.weights().head.bytes()));
}

TEST_F(ProfiledTransformer, experts_and_latent_attention_name_their_own_operations) {
  testing::StoredWeights weights;
  linear::ThreadPool threads(1);
  const ModelConfig config = testing::wide_latent();
  const Transformer model(
      config, pack(config, weights.random(config, quant::WeightType::f32), threads).value());
  const PassProfile profile = run(model, 4);
  for (const Operation operation : {Operation::query, Operation::kv_down, Operation::absorb,
                                    Operation::attention, Operation::value_up, Operation::output}) {
    EXPECT_GT(operations_of(profile.totals(operation)), 0) << name_of(operation);
  }
  EXPECT_EQ(profile.totals(Operation::qkv).calls, 0U);
  const ModelConfig routed = testing::wide_experts();
  const Transformer experts(
      routed, pack(routed, weights.random(routed, quant::WeightType::f32), threads).value());
  EXPECT_GT(operations_of(run(experts, 4).totals(Operation::router)), 0);
}

}  // namespace
}  // namespace forge::model
