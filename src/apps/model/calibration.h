// How large the inputs of a model's matrices are on a text: the importance of their columns.
//
// The importance of an input is its mean square over the tokens of the text; quantize() of
// quant/quantize.h says what it is for. Seen are
//
//   the input of attention       Q, K, V, and the matrices that make latents
//   what heads attended to       the output of attention; not of attention over latents
//   the input of the MLP         gate and up, of experts as well
//   the gated activations        down, but for experts, which see some of the tokens each
//   the input of the head        the head
//
// Other matrices have no importance: their errors count alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "forge/checkpoint/file_tensors.h"
#include "forge/checkpoint/row_source.h"
#include "token_pass.h"

namespace forge::apps {

/// Mean squares, kept for each place in each layer.
class Calibration {
 public:
  /// Of a model of `config`. Borrows it.
  explicit Calibration(const model::ModelConfig& config) : config_(config) {}

  /// Runs the tokens in windows and adds what is seen.
  void add(TokenPass& pass, std::span<const std::uint32_t> tokens, std::size_t window);

  /// By role, for the matrices of `tensors` whose inputs were seen: mean squares over the mean of
  /// all of them, within 2^-10 .. 2^10.
  checkpoint::Importance importance(const std::vector<checkpoint::FileTensor>& tensors) const;

 private:
  enum class Place : std::uint8_t { attention, attended, mlp, gated, head };
  using Key = std::pair<int, Place>;  // layer (0 for the head) and place

  void see(const model::Observation& seen, const model::TransformerScratch& scratch, int rows);
  void add_squares(Key key, const float* rows, int count, int width);
  void see_attention(int layer, const model::TransformerScratch& scratch, int rows);
  void see_mlp(int layer, const model::TransformerScratch& scratch, int rows);
  bool find(const std::string& role, Key& key) const;

  const model::ModelConfig& config_;
  std::vector<float> hidden_;                   // [T][d] at the end of the layer before
  std::map<Key, std::vector<double>> squares_;  // sums over tokens
};

}  // namespace forge::apps
