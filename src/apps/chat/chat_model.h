// ChatModel: a model that answers dialogues.
//
//   Dialogue --chat template--> text --tokenizer--> prompt --engine--> tokens --> text, as it comes
//
// Each answer renders the whole dialogue. What of that the engine has run before it does not run
// again: the KV of prompt and answer stays for the next turn, up to the first token that differs.
// So a template that spells earlier turns in another way costs time, and nothing else.
//
// The answer is a function of dialogue, options and the date if the template prints it. The date is
// that of the program's start.
//
// An answer ends at the model's end-of-sequence tokens, the template's end of an answer among them;
// where that is no token, at its text (LoadedModel::answer_stop).
//
// Owns the model and its engine. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chat_statistics.h"
#include "dialogue.h"
#include "forge/chat/chat_format.h"
#include "forge/core/sampling_params.h"
#include "forge/core/step_plan.h"
#include "forge/runtime/open.h"

namespace forge::apps {

/// How answers are made.
struct AnswerOptions {
  SamplingParams sampling;
  std::optional<std::uint32_t> max_tokens;  ///< nullopt: what the context leaves
};

struct AnswerHooks {
  std::function<void(std::string_view piece)> on_text;
  std::function<bool()> is_stopped;  ///< asked before each step; true ends the answer
};

struct Answer {
  std::string text;                          ///< the pieces together
  FinishReason finish = FinishReason::none;  ///< eos, stop, length, or cancelled by is_stopped
  ChatStatistics statistics;
};

class ChatModel {
 public:
  /// Errors: those of Runtime::open; the model's chat template cannot be used.
  static tl::expected<ChatModel, std::string> open(runtime::TargetOptions target,
                                                   AnswerOptions options);

  const std::string& name() const { return runtime_.model().name(); }
  /// Whether its dialogues are spelt as ChatML for want of anything better.
  bool lacks_template() const;

  /// Goes on with a dialogue whose last message is a question. Errors: the template refuses the
  /// dialogue, in its words, or cannot render it; it does not fit into the context; the target
  /// fails. What on_text has had by then is no answer.
  tl::expected<Answer, std::string> answer(const Dialogue& dialogue, const AnswerHooks& hooks);

 private:
  ChatModel(Runtime runtime, AnswerOptions options);

  std::uint64_t context_tokens() const;
  tl::expected<std::vector<TokenId>, std::string> prompt_of(const Dialogue& dialogue) const;

  Runtime runtime_;
  AnswerOptions options_;
  std::vector<std::string> stops_;
  std::tm now_;
};

}  // namespace forge::apps
