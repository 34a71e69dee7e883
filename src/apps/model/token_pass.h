// A checkpoint's model in memory, and passes of token sequences through it: what dump, perplexity
// and calibration have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/model/transformer.h"

namespace forge::apps {

/// The tokens of a text by the tokenizer of the model at `path`. Errors: it has none, or those of
/// encoding.
tl::expected<std::vector<std::uint32_t>, std::string> tokens_of_text(
    const checkpoint::Checkpoint& checkpoint, const std::string& path, const std::string& text);

class TokenPass {
 public:
  /// Packs the weights. Errors: a number of them is not finite.
  static tl::expected<TokenPass, std::string> open(const checkpoint::Checkpoint& checkpoint,
                                                   int threads);
  TokenPass(TokenPass&&) noexcept;
  TokenPass& operator=(TokenPass&&) noexcept;
  ~TokenPass();

  /// Runs a sequence by itself. Returns: logits [tokens][V], valid until the next call. `observer`
  /// may be empty. Requires: tokens are of the vocabulary and at most as many as positions.
  std::span<const float> run(std::span<const std::uint32_t> tokens,
                             model::ForwardObserver observer = {});

  /// The intermediate results of the pass: what an observer finds besides what it is shown.
  const model::TransformerScratch& scratch() const;

 private:
  struct State;
  explicit TokenPass(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace forge::apps
