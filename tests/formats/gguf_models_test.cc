// GGUF files that others wrote: of trained checkpoints, beside their SafeTensors, and of
// vocabularies without weights (tests/golden/vocabularies/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"
#include "trained_checkpoints.h"

namespace forge::formats {
namespace {

class GgufModels : public forge::testing::TrainedCheckpointTest {
 protected:
  static Gguf gguf_file() { return Gguf::open(GetParam().gguf()).value(); }
  static SafeTensors checkpoint_file() {
    return SafeTensors::open(std::string(GetParam().folder) + "/model.safetensors").value();
  }
};

TEST_P(GgufModels, say_what_they_are) {
  const Gguf gguf = gguf_file();
  const auto& size = GetParam();
  EXPECT_EQ(gguf.version(), 3u);
  EXPECT_EQ(gguf.metadata().size(), size.is_extra ? 22u : 28u);
  EXPECT_EQ(gguf.text("general.architecture").value(), "llama");
  EXPECT_EQ(gguf.text("general.name").value(), size.name);
  const std::map<std::string, std::int64_t> integers = {
      {"llama.context_length", 512},
      {"llama.embedding_length", size.width},
      {"llama.block_count", size.layers},
      {"llama.feed_forward_length", size.mlp},
      {"llama.attention.head_count", size.heads},
      {"llama.attention.head_count_kv", size.kv_heads},
      {"llama.rope.dimension_count", 8},
      {"llama.vocab_size", size.vocabulary},
      {"tokenizer.ggml.bos_token_id", 1},
      {"tokenizer.ggml.eos_token_id", 2}};
  for (const auto& [key, value] : integers) EXPECT_EQ(gguf.integer(key).value(), value) << key;
  EXPECT_EQ(gguf.number("llama.attention.layer_norm_rms_epsilon").value(),
            static_cast<double>(1e-5f));
  EXPECT_EQ(gguf.number("llama.rope.freq_base").value(), 10000.0);
  EXPECT_TRUE(gguf.boolean("tokenizer.ggml.add_bos_token").value());
}

TEST_P(GgufModels, have_the_tensors_of_their_checkpoint) {
  const Gguf gguf = gguf_file();
  const SafeTensors checkpoint = checkpoint_file();
  ASSERT_EQ(gguf.tensors().size(), 2 + 9 * GetParam().layers);
  EXPECT_EQ(checkpoint.tensors().size(), gguf.tensors().size());
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
  for (std::uint32_t block = 0; block < GetParam().layers; ++block) {
    const std::string number = std::to_string(block);
    for (const auto& [ours, theirs] : names) {
      expect_same("blk." + number + "." + ours + ".weight",
                  "model.layers." + number + "." + theirs + ".weight");
    }
  }
}

TEST_P(GgufModels, rows_of_queries_and_keys_are_in_the_order_of_their_rotation) {
  // A checkpoint of Hugging Face rotates row i of a head with row i + D / 2; GGUF has the two next
  // to each other.
  constexpr std::size_t kHeadSize = 8;
  const std::size_t row_bytes = GetParam().width * sizeof(float);
  const Gguf gguf = gguf_file();
  const SafeTensors checkpoint = checkpoint_file();
  for (const auto& [ours, theirs] :
       {std::pair("blk.2.attn_q.weight", "model.layers.2.self_attn.q_proj.weight"),
        std::pair("blk.2.attn_k.weight", "model.layers.2.self_attn.k_proj.weight")}) {
    const Tensor& a = *gguf.find(ours);
    const Tensor& b = *checkpoint.find(theirs);
    ASSERT_EQ(a.shape, b.shape);
    for (std::size_t row = 0; row < a.shape[0]; ++row) {
      const std::size_t in_head = row % kHeadSize;
      const std::size_t from = row - in_head + in_head / 2 + (in_head % 2) * (kHeadSize / 2);
      EXPECT_TRUE(std::ranges::equal(a.bytes.subspan(row * row_bytes, row_bytes),
                                     b.bytes.subspan(from * row_bytes, row_bytes)))
          << ours << " row " << row;
    }
  }
}

TEST_P(GgufModels, bring_their_vocabulary) {
  const Gguf gguf = gguf_file();
  const auto tokens = gguf.texts("tokenizer.ggml.tokens").value();
  const GgufNumbers scores = gguf.numbers("tokenizer.ggml.scores").value();
  const GgufNumbers types = gguf.integers("tokenizer.ggml.token_type").value();
  ASSERT_EQ(tokens.size(), GetParam().vocabulary);
  ASSERT_EQ(scores.size(), GetParam().vocabulary);
  ASSERT_EQ(types.size(), GetParam().vocabulary);
  EXPECT_EQ(tokens[1], "<s>");
  EXPECT_EQ(types.integer(0), 2) << "unknown";
  EXPECT_EQ(types.integer(1), 3) << "control";
  EXPECT_EQ(scores.number(1), 0.0);
  EXPECT_EQ(scores.type(), GgufType::f32);
}

INSTANTIATE_TEST_SUITE_P(Of, GgufModels, forge::testing::both_trained_checkpoints(),
                         forge::testing::label_of);

/// What is in a file of a vocabulary.
struct Vocabulary {
  const char* name;
  const char* model;
  std::size_t tokens;
  std::size_t merges;
};

void expect_vocabulary(const std::string& folder, const Vocabulary& expected) {
  const Gguf gguf = Gguf::open(folder + "/" + expected.name + ".gguf").value();
  EXPECT_TRUE(gguf.tensors().empty());
  EXPECT_EQ(gguf.text("general.name").value(), expected.name);
  EXPECT_EQ(gguf.text("tokenizer.ggml.model").value(), expected.model);
  EXPECT_EQ(gguf.texts("tokenizer.ggml.tokens").value().size(), expected.tokens);
  EXPECT_EQ(gguf.integers("tokenizer.ggml.token_type").value().size(), expected.tokens);
  const auto merges = gguf.texts("tokenizer.ggml.merges");
  EXPECT_EQ(merges ? merges->size() : 0, expected.merges);
}

std::string first_merge_of_gpt2(const std::string& folder) {
  const Gguf gguf = Gguf::open(folder + "/gpt-2.gguf").value();
  return std::string(gguf.texts("tokenizer.ggml.merges").value().front());
}

TEST(GgufVocabularies, have_no_weights) {
  for (const Vocabulary& expected :
       {Vocabulary{"llama-spm", "llama", 1000, 0}, Vocabulary{"gpt-2", "gpt2", 901, 900 - 256},
        Vocabulary{"deepseek-llm", "gpt2", 1002, 1000 - 256}}) {
    expect_vocabulary(FORGE_GOLDEN_VOCABULARIES, expected);
  }
  EXPECT_EQ(first_merge_of_gpt2(FORGE_GOLDEN_VOCABULARIES), "\u0120 f");
}

TEST(GgufVocabularies, extra_those_of_llama_cpp_have_no_weights) {
  if (const std::string why = forge::testing::why_missing(FORGE_TOKENIZERS); !why.empty()) {
    GTEST_SKIP() << why;
  }
  for (const Vocabulary& expected :
       {Vocabulary{"llama-spm", "llama", 32000, 0}, Vocabulary{"gpt-2", "gpt2", 50257, 50000},
        Vocabulary{"deepseek-llm", "gpt2", 102400, 99757}}) {
    expect_vocabulary(FORGE_TOKENIZERS, expected);
  }
  EXPECT_EQ(first_merge_of_gpt2(FORGE_TOKENIZERS), "\u0120 t");
}

}  // namespace
}  // namespace forge::formats
