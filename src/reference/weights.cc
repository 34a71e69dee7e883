#include "forge/reference/weights.h"

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"

namespace forge::reference {
namespace {

// Random weights still make a language of a kind, if the scales are chosen. These were, by
// looking at the text and by the measurements in tests/cpu/draft_acceptance_test.cc.
//
// The head is tied, so the length of a token's embedding is how loudly it competes: logits
// are about normal with deviation 8 * scale (8 = sqrt(hidden_size) of the default shape).
constexpr float kFrequentScale = 0.55F;   // space and a .. z: the text is mostly these
constexpr float kPrintableScale = 0.35F;  // the rest of printable ASCII
constexpr float kEosScale = 0.45F;        // now and then
constexpr float kOtherScale = 0.05F;      // bytes that are no text, reserved tokens: rare

// What a sub-layer adds is long compared with an embedding, or the tied head would see
// mostly the token just read and repeat it for ever.
constexpr float kResidualGain = 16.0F;

// Sub-layers add less and less with depth, by e^-3.2 over the whole model, so that a draft of half
// the layers is often right and not always.
constexpr float kDepthDecay = 3.2F;

// Attention scores of deviation about 4: each head looks at a few tokens, not at the average of
// all.
constexpr float kQueryKeyGain = 2.0F;

enum TensorKind : std::uint32_t { kEmbedding, kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

/// Keeps the weights' random numbers apart from the sampler's, whose fourth counter
/// word is small.
constexpr std::uint32_t kWeightStream = 0x57;

/// Nearly normal, mean 0, deviation 1: four uniforms added (Irwin-Hall), in exactly rounded
/// operations only.
float normal(const numerics::Words4& words) {
  float sum = 0.0F;
  for (const std::uint32_t word : words.x) sum += numerics::uniform_open(word);
  return (sum - 2.0F) * 1.7320508F;
}

struct Tensor {
  TensorKind kind;
  int layer;
  int rows;
  int cols;
};

Matrix draw(std::uint64_t seed, const Tensor& tensor, float deviation) {
  Matrix m(tensor.rows, tensor.cols);
  for (Eigen::Index i = 0; i < m.size(); ++i) {
    const auto words = numerics::philox({{static_cast<std::uint32_t>(i), tensor.kind,
                                          static_cast<std::uint32_t>(tensor.layer), kWeightStream}},
                                        seed);
    m.data()[i] = deviation * normal(words);
  }
  return m;
}

/// A linear layer that turns inputs of deviation 1 into outputs of deviation `gain`.
Matrix linear(std::uint64_t seed, const Tensor& tensor, float gain) {
  return draw(seed, tensor, gain * numerics::rsqrt(static_cast<float>(tensor.cols)));
}

float embedding_scale(int token) {
  const int byte = token - 1;  // text/byte_tokenizer.h
  if (token == 0) return kEosScale;
  if (byte == ' ' || (byte >= 'a' && byte <= 'z')) return kFrequentScale;
  return byte > ' ' && byte <= '~' ? kPrintableScale : kOtherScale;
}

LayerWeights layer_weights(const TinyConfig& c, int layer) {
  const float depth = static_cast<float>(layer) / static_cast<float>(c.layers);
  const float residual = kResidualGain * numerics::exp(-kDepthDecay * depth);
  const int d = c.hidden_size;
  LayerWeights w;
  w.attention_norm = Vector::Ones(d);
  w.query = linear(c.seed, {kQuery, layer, c.query_size(), d}, kQueryKeyGain);
  w.key = linear(c.seed, {kKey, layer, c.kv_size(), d}, kQueryKeyGain);
  w.value = linear(c.seed, {kValue, layer, c.kv_size(), d}, 1.0F);
  w.output = linear(c.seed, {kOutput, layer, d, c.query_size()}, residual);
  w.mlp_norm = Vector::Ones(d);
  w.gate = linear(c.seed, {kGate, layer, c.ffn_size, d}, 1.0F);
  w.up = linear(c.seed, {kUp, layer, c.ffn_size, d}, 1.0F);
  w.down = linear(c.seed, {kDown, layer, d, c.ffn_size}, residual);
  return w;
}

}  // namespace

Weights seeded_weights(const TinyConfig& config) {
  Weights w;
  w.embedding =
      draw(config.seed, {kEmbedding, 0, config.vocabulary_size, config.hidden_size}, 1.0F);
  for (int token = 0; token < config.vocabulary_size; ++token) {
    w.embedding.row(token) *= embedding_scale(token);
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    w.layers.push_back(layer_weights(config, layer));
  }
  w.final_norm = Vector::Ones(config.hidden_size);
  return w;
}

}  // namespace forge::reference
