#include "loop_texts.h"

namespace forge::engine {
namespace {

struct ErrorText {
  std::string operator()(const QueueFull& e) const {
    return "the queue has no room: " + std::to_string(e.waiting) +
           " requests are waiting, accepted are up to " + std::to_string(e.limit);
  }
  std::string operator()(const MemoryPressure& e) const {
    return "memory is under pressure: " + std::to_string(e.available_blocks) + " of " +
           std::to_string(e.total_blocks) + " blocks of the KV cache are available";
  }
  std::string operator()(const ShuttingDown&) const { return "the server is shutting down"; }
  std::string operator()(const TargetLost& e) const {
    return "the target is lost and runs nothing any more: " + e.reason;
  }
  std::string operator()(const SubmitError& e) const { return to_string(e); }
};

/// The position of the next token after a slice, drafts left out.
std::string next_position(const Slice& slice) {
  return std::to_string(slice.first + slice.count - slice.drafts);
}

}  // namespace

std::string to_string(const LoopError& error) { return std::visit(ErrorText{}, error); }

std::string failed_text(const std::string& reason) {
  return "the target failed while it ran this request: " + reason;
}

std::string not_finite_text(const Slice& slice) {
  return "the logits are not finite at position " + next_position(slice) +
         " of prompt and output: the model's arithmetic overflows on this text";
}

std::string no_token_text(const Slice& slice, FinishSignal signal) {
  const std::string place = "at position " + next_position(slice) + " of prompt and output ";
  if (signal == FinishSignal::grammar_limit) {
    return place +
           "it takes more work than the grammar of the output may take to find the tokens "
           "that may follow";
  }
  return place + "no token of the vocabulary leads on to a text of the grammar of the output";
}

}  // namespace forge::engine
