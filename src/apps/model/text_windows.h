// How a text longer than what a model attends to is read: in windows, each run by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "token_pass.h"

namespace forge::apps {

/// Tokens [first, end) of a text; those before `scored` have been predicted in an earlier window
/// and are there to be attended to.
struct TextWindow {
  std::size_t first = 0;
  std::size_t scored = 0;
  std::size_t end = 0;
};

/// Windows of up to `size` tokens that begin half a window after one another, so that every token
/// but those of the first window's first half is predicted from half a window or more before it.
/// Together they score tokens 1 .. count - 1, each once. Requires: size >= 2.
std::vector<TextWindow> windows_of(std::size_t count, std::size_t size);

/// What a model makes of a text.
struct TextScore {
  double sum_negative_log = 0;  ///< of the probabilities that the model gives the tokens, natural
  std::size_t tokens = 0;       ///< those that were predicted
  double perplexity() const;    ///< exp of their mean
};

/// Adds up -log softmax(logits)[token] over the scored tokens of all windows, in doubles.
/// `progress` is told of each window that is done and returns false to stop; may be empty.
TextScore score_text(TokenPass& pass, std::span<const std::uint32_t> tokens, std::size_t window,
                     const std::function<bool(std::size_t done)>& progress = {});

}  // namespace forge::apps
