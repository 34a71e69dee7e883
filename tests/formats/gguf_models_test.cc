// Files of the wild, where they are at hand (shared/data).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"

namespace forge::formats {
namespace {

class GgufModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(FORGE_STORIES) || !std::filesystem::exists(FORGE_TOKENIZERS)) {
      GTEST_SKIP() << "no " << FORGE_STORIES << " or " << FORGE_TOKENIZERS;
    }
  }

  static Gguf stories() {
    return Gguf::open(std::string(FORGE_STORIES) + "/stories260K.gguf").value();
  }
  static Gguf vocabulary(const std::string& name) {
    return Gguf::open(std::string(FORGE_TOKENIZERS) + "/" + name + ".gguf").value();
  }
};

TEST_F(GgufModels, a_model_says_what_it_is) {
  const Gguf gguf = stories();
  EXPECT_EQ(gguf.version(), 3u);
  EXPECT_EQ(gguf.metadata().size(), 22u);
  EXPECT_EQ(gguf.text("general.architecture").value(), "llama");
  const std::map<std::string, std::int64_t> integers = {
      {"llama.context_length", 512},      {"llama.embedding_length", 64},
      {"llama.block_count", 5},           {"llama.feed_forward_length", 172},
      {"llama.attention.head_count", 8},  {"llama.attention.head_count_kv", 4},
      {"llama.rope.dimension_count", 8},  {"llama.vocab_size", 512},
      {"tokenizer.ggml.bos_token_id", 1}, {"tokenizer.ggml.eos_token_id", 2}};
  for (const auto& [key, value] : integers) EXPECT_EQ(gguf.integer(key).value(), value) << key;
  EXPECT_EQ(gguf.number("llama.attention.layer_norm_rms_epsilon").value(),
            static_cast<double>(1e-5f));
  EXPECT_EQ(gguf.number("llama.rope.freq_base").value(), 10000.0);
  EXPECT_TRUE(gguf.boolean("tokenizer.ggml.add_bos_token").value());
}

TEST_F(GgufModels, a_model_has_the_tensors_of_its_checkpoint) {
  const Gguf gguf = stories();
  const SafeTensors checkpoint =
      SafeTensors::open(std::string(FORGE_STORIES) + "/model.safetensors").value();
  ASSERT_EQ(gguf.tensors().size(), 47u);
  EXPECT_EQ(checkpoint.tensors().size(), 47u);
  const std::map<std::string, std::string> names = {{"attn_norm", "input_layernorm"},
                                                    {"attn_v", "self_attn.v_proj"},
                                                    {"attn_output", "self_attn.o_proj"},
                                                    {"ffn_norm", "post_attention_layernorm"},
                                                    {"ffn_gate", "mlp.gate_proj"},
                                                    {"ffn_down", "mlp.down_proj"},
                                                    {"ffn_up", "mlp.up_proj"}};
  const auto expect_same = [&](const std::string& ours, const std::string& theirs) {
    const Tensor* const a = gguf.find(ours);
    const Tensor* const b = checkpoint.find(theirs);
    ASSERT_TRUE(a != nullptr && b != nullptr) << ours << " and " << theirs;
    EXPECT_EQ(a->type, b->type) << ours;
    EXPECT_EQ(a->shape, b->shape) << ours;
    EXPECT_TRUE(std::ranges::equal(a->bytes, b->bytes)) << ours;
  };
  expect_same("token_embd.weight", "model.embed_tokens.weight");
  expect_same("output_norm.weight", "model.norm.weight");
  for (int block = 0; block < 5; ++block) {
    const std::string number = std::to_string(block);
    for (const auto& [ours, theirs] : names) {
      expect_same("blk." + number + "." + ours + ".weight",
                  "model.layers." + number + "." + theirs + ".weight");
    }
  }
}

TEST_F(GgufModels, rows_of_queries_and_keys_are_in_the_order_of_their_rotation) {
  // A checkpoint of Hugging Face rotates row i of a head with row i + D / 2; GGUF has the two next
  // to each other.
  constexpr std::size_t kHeadSize = 8;
  constexpr std::size_t kRowBytes = 64 * sizeof(float);
  const Gguf gguf = stories();
  const SafeTensors checkpoint =
      SafeTensors::open(std::string(FORGE_STORIES) + "/model.safetensors").value();
  for (const auto& [ours, theirs] :
       {std::pair("blk.3.attn_q.weight", "model.layers.3.self_attn.q_proj.weight"),
        std::pair("blk.3.attn_k.weight", "model.layers.3.self_attn.k_proj.weight")}) {
    const Tensor& a = *gguf.find(ours);
    const Tensor& b = *checkpoint.find(theirs);
    ASSERT_EQ(a.shape, b.shape);
    for (std::size_t row = 0; row < a.shape[0]; ++row) {
      const std::size_t in_head = row % kHeadSize;
      const std::size_t from = row - in_head + in_head / 2 + (in_head % 2) * (kHeadSize / 2);
      EXPECT_TRUE(std::ranges::equal(a.bytes.subspan(row * kRowBytes, kRowBytes),
                                     b.bytes.subspan(from * kRowBytes, kRowBytes)))
          << ours << " row " << row;
    }
  }
}

TEST_F(GgufModels, a_model_brings_its_vocabulary) {
  const Gguf gguf = stories();
  const auto tokens = gguf.texts("tokenizer.ggml.tokens").value();
  const GgufNumbers scores = gguf.numbers("tokenizer.ggml.scores").value();
  const GgufNumbers types = gguf.integers("tokenizer.ggml.token_type").value();
  ASSERT_EQ(tokens.size(), 512u);
  ASSERT_EQ(scores.size(), 512u);
  ASSERT_EQ(types.size(), 512u);
  EXPECT_EQ(tokens[1], "<s>");
  EXPECT_EQ(types.integer(0), 2) << "unknown";
  EXPECT_EQ(types.integer(1), 3) << "control";
  EXPECT_EQ(scores.number(1), 0.0);
  EXPECT_EQ(scores.type(), GgufType::f32);
}

TEST_F(GgufModels, vocabularies_without_weights) {
  struct Expected {
    const char* name;
    const char* model;
    std::size_t tokens;
    std::size_t merges;
  };
  for (const Expected& expected :
       {Expected{"llama-spm", "llama", 32000, 0}, Expected{"gpt-2", "gpt2", 50257, 50000},
        Expected{"deepseek-llm", "gpt2", 102400, 99757}}) {
    const Gguf gguf = vocabulary(expected.name);
    EXPECT_TRUE(gguf.tensors().empty());
    EXPECT_EQ(gguf.text("general.name").value(), expected.name);
    EXPECT_EQ(gguf.text("tokenizer.ggml.model").value(), expected.model);
    EXPECT_EQ(gguf.texts("tokenizer.ggml.tokens").value().size(), expected.tokens);
    EXPECT_EQ(gguf.integers("tokenizer.ggml.token_type").value().size(), expected.tokens);
    const auto merges = gguf.texts("tokenizer.ggml.merges");
    EXPECT_EQ(merges ? merges->size() : 0, expected.merges);
  }
  EXPECT_EQ(vocabulary("gpt-2").texts("tokenizer.ggml.merges").value().front(), "\u0120 t");
}

}  // namespace
}  // namespace forge::formats
