#include "forge/builtin/trained_model.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/check.h"
#include "forge/formats/safetensors.h"

// The bytes of a file between the labels NAME_begin and NAME_end: C++20 has no #embed.
#define FORGE_LINK_IN(name, file)               \
  __asm__(                                      \
      ".pushsection .rodata\n"                  \
      ".balign 64\n"                            \
      ".globl " #name "_begin\n" #name          \
      "_begin:\n"                               \
      ".incbin \"" FORGE_BUILTIN_FILES "/" file \
      "\"\n"                                    \
      ".globl " #name "_end\n" #name            \
      "_end:\n"                                 \
      ".popsection\n")
FORGE_LINK_IN(forge_tiny_weights, "forge-tiny.safetensors");
FORGE_LINK_IN(forge_tiny_tokenizer, "tokenizer.json");

// NOLINTBEGIN(readability-identifier-naming): labels of the assembler
extern "C" const std::byte forge_tiny_weights_begin[];
extern "C" const std::byte forge_tiny_weights_end[];
extern "C" const char forge_tiny_tokenizer_begin[];
extern "C" const char forge_tiny_tokenizer_end[];
// NOLINTEND(readability-identifier-naming)

namespace forge::builtin {
namespace {

class Tensors {
 public:
  Tensors() {
    std::map<std::string, std::string> metadata;
    auto parsed =
        formats::parse_safetensors(std::span(forge_tiny_weights_begin, forge_tiny_weights_end),
                                   "forge-tiny.safetensors", metadata);
    FORGE_CHECK(parsed.has_value(), to_string(parsed.error()));
    tensors_ = *std::move(parsed);
  }

  reference::Matrix matrix(const std::string& name, int outputs, int inputs) const {
    reference::Matrix matrix(outputs, inputs);
    copy(name, std::span(matrix.data(), static_cast<std::size_t>(matrix.size())));
    return matrix;
  }

  reference::Vector vector(const std::string& name, int size) const {
    reference::Vector vector(size);
    copy(name, std::span(vector.data(), static_cast<std::size_t>(vector.size())));
    return vector;
  }

 private:
  void copy(const std::string& name, std::span<float> to) const {
    const auto found =
        std::find_if(tensors_.begin(), tensors_.end(),
                     [&](const formats::Tensor& tensor) { return tensor.name == name; });
    FORGE_CHECK(found != tensors_.end(), "no tensor ", name);
    FORGE_CHECK(found->type == formats::ElementType::f32 && found->bytes.size() == to.size_bytes(),
                name, " is ", to_string(*found));
    std::memcpy(to.data(), found->bytes.data(), to.size_bytes());
  }

  std::vector<formats::Tensor> tensors_;
};

reference::LayerWeights layer_of(const Tensors& tensors, const reference::TinyConfig& c, int i) {
  const std::string layer = "model.layers." + std::to_string(i) + ".";
  const auto name = [&](const char* part) { return layer + part + ".weight"; };
  return {
      .attention_norm = tensors.vector(name("input_layernorm"), c.hidden_size),
      .query = tensors.matrix(name("self_attn.q_proj"), c.query_size(), c.hidden_size),
      .key = tensors.matrix(name("self_attn.k_proj"), c.kv_size(), c.hidden_size),
      .value = tensors.matrix(name("self_attn.v_proj"), c.kv_size(), c.hidden_size),
      .output = tensors.matrix(name("self_attn.o_proj"), c.hidden_size, c.query_size()),
      .mlp_norm = tensors.vector(name("post_attention_layernorm"), c.hidden_size),
      .gate = tensors.matrix(name("mlp.gate_proj"), c.ffn_size, c.hidden_size),
      .up = tensors.matrix(name("mlp.up_proj"), c.ffn_size, c.hidden_size),
      .down = tensors.matrix(name("mlp.down_proj"), c.hidden_size, c.ffn_size),
  };
}

}  // namespace

reference::TinyConfig trained_config() {
  return {.vocabulary_size = 512,
          .hidden_size = 96,
          .layers = 4,
          .heads = 3,
          .kv_heads = 3,
          .head_size = 32,
          .ffn_size = 192};
}

std::string_view trained_tokenizer() {
  return {forge_tiny_tokenizer_begin, forge_tiny_tokenizer_end};
}

reference::Weights trained_weights() {
  const reference::TinyConfig config = trained_config();
  const Tensors tensors;
  reference::Weights weights{
      .embedding =
          tensors.matrix("model.embed_tokens.weight", config.vocabulary_size, config.hidden_size),
      .final_norm = tensors.vector("model.norm.weight", config.hidden_size)};
  for (int i = 0; i < config.layers; ++i) weights.layers.push_back(layer_of(tensors, config, i));
  return weights;
}

}  // namespace forge::builtin
