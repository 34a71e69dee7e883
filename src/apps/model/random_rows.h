// RandomRowSource: weights that are made up, a pure function of seed, tensor, row and column.
//
// So they are the same on every machine, with any number of threads, and whatever else the model
// has; a model in SafeTensors and one in GGUF from the same seed are the same model. Numbers are
// close to normal, sums of four uniform ones (no further than 3.5 standard deviations out), with a
// standard deviation of 1/sqrt(inputs): a row of activations keeps its size, and scores and logits
// stay near 1. Norms are ones and biases zeros.
//
// To quantize every block would take longer than to write the file. So block types draw each block
// of a tensor from kBlocks that are made of such numbers once: their statistics are right, but
// within a tensor blocks come again. Such a model is not the quantized form of the model in F32.
//
// Random bits are Philox's (numerics/philox.h): counter (column / 2 or block / 4, row, tensor), key
// seed.
#pragma once

#include <string>
#include <vector>

#include "forge/checkpoint/row_source.h"

namespace forge::apps {

class RandomRowSource final : public checkpoint::RowSource {
 public:
  static constexpr std::size_t kBlocks = 1024;

  /// The weights of a model of `config`, which it borrows.
  RandomRowSource(std::uint64_t seed, const model::ModelConfig& config)
      : seed_(seed), config_(config) {}

  void begin(const checkpoint::FileTensor& tensor) override;

 private:
  std::string stream_name(const checkpoint::WeightRows& part) const;
  void floats(const checkpoint::WeightRows& part, int row, std::span<float> out) const override;
  bool copy(const checkpoint::WeightRows& part, int row, quant::WeightType type,
            std::span<std::byte> out) const override;

  std::uint64_t seed_;
  const model::ModelConfig& config_;
  std::vector<std::byte> blocks_;  // of the tensor at hand, where its type has blocks
};

}  // namespace forge::apps
