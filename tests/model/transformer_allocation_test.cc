// A program of its own, because allocation_counter.cc replaces operator new.
#include <gtest/gtest.h>

#include <array>

#include "cpu/allocation_counter.h"
#include "model/transformer_runner.h"

namespace forge::model {
namespace {

/// Allocations of decoding 20 tokens of two sequences side by side, after as many before them.
std::size_t allocations_of_steady_steps(const std::string& name) {
  const testing::LoadedModel model(FORGE_GOLDEN_MODELS "/" + name);
  linear::ThreadPool threads(2);
  KvPool pool(kv_shape(model.config()), 2, 64);
  TransformerScratch scratch(model.config(), threads);
  const std::vector<std::uint32_t> first{0}, second{1}, sequences{0, 1}, rows{0, 1};
  const std::vector<std::span<const std::uint32_t>> tables{first, second};
  std::vector<float> logits(2 * static_cast<std::size_t>(model.config().vocabulary_size));
  std::size_t before = 0;
  for (std::uint32_t position = 0; position < 40; ++position) {
    if (position == 20) before = testing::allocation_count();  // everything has been seen by then
    const std::array<TokenId, 2> tokens{TokenId(position), TokenId(95 - position)};
    const std::array<std::uint32_t, 2> positions{position, position};
    model.transformer().forward({tokens, positions, sequences, tables, rows}, pool, scratch, logits,
                                model.config().layers);
  }
  return testing::allocation_count() - before;
}

TEST(TransformerAllocation, decoding_allocates_nothing_in_steady_state) {
  for (const char* name : {"llama", "llama_bf16", "mistral_sliding", "qwen3_moe", "deepseek_v3"}) {
    EXPECT_EQ(allocations_of_steady_steps(name), 0U) << name;
  }
}

}  // namespace
}  // namespace forge::model
