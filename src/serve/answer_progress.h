// AnswerProgress: what of an answer is known so far: its choices as they grow, and what the record
// of its request says of their tokens. It writes the answer once it is whole.
//
// Borrows the request, the tokenizer and the record's tokens. Thread contract: the I/O thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "choice_writer.h"
#include "forge/serve/openai_api.h"
#include "forge/serve/request_record.h"
#include "generation.h"

namespace forge::serve {

/// What the record of a request says of its tokens, as they come.
struct TokenLog {
  RequestTokens& tokens;
  std::chrono::steady_clock::time_point begun;

  /// `choice`: as it was before the event.
  void add(const Choice& choice, const engine::TokenEvent& event, bool wants_tokens);
};

class AnswerProgress {
 public:
  AnswerProgress(const CompletionRequest& request, const text::Tokenizer& tokenizer,
                 std::string_view draft_source, TokenLog log);

  /// Returns what the event adds to its choice.
  ChoiceWriter::Addition add(const Generation::Event& event);

  const std::vector<Choice>& choices() const { return choices_; }
  Usage usage() const;

  /// The whole answer, once every choice has ended. Called once.
  std::string answer(const AnswerHead& head, const ModelCard& model);

  /// What ends a stream, but for its mark: chunks.
  std::vector<std::string> last_chunks(const AnswerHead& head, const ModelCard& model) const;

 private:
  const CompletionRequest& request_;
  TokenLog log_;
  bool wants_tokens_;
  std::vector<Choice> choices_;
  std::vector<ChoiceWriter> writers_;  // [choices]
  std::string_view draft_source_;
  std::uint64_t prompt_tokens_ = 0;
};

}  // namespace forge::serve
