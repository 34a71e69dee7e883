#include "answer_progress.h"

#include <algorithm>
#include <utility>

#include "generation_response.h"

namespace forge::serve {
namespace {

void add_to(Choice& choice, const ChoiceWriter::Part& part) {
  choice.text += part.text;
  choice.reasoning += part.reasoning;
  if (!part.call) return;
  if (!part.call->id.empty()) {
    choice.calls.push_back(*part.call);
  } else {
    choice.calls.back().arguments += part.call->arguments;
  }
}

}  // namespace

void TokenLog::add(const Choice& choice, const engine::TokenEvent& event, bool wants_tokens) {
  if (wants_tokens) tokens.completion += event.completion_tokens - choice.completion_tokens;
  tokens.cached += event.cached_tokens - choice.cached_tokens;
  tokens.drafts.proposed += event.drafts.proposed - choice.drafts.proposed;
  tokens.drafts.accepted += event.drafts.accepted - choice.drafts.accepted;
  if (event.queued) {
    tokens.queued =
        std::max(tokens.queued.value_or(LogMilliseconds(0)), LogMilliseconds(*event.queued));
  }
  if (!tokens.first && event.completion_tokens > 0) {
    tokens.first = std::chrono::steady_clock::now() - begun;
  }
  if (event.finish != FinishReason::none) tokens.finish = event.finish;
}

AnswerProgress::AnswerProgress(const CompletionRequest& request, const text::Tokenizer& tokenizer,
                               std::string_view draft_source, TokenLog log)
    : request_(request),
      log_(log),
      wants_tokens_(request.max_tokens > 0),
      choices_(request.choices()),
      draft_source_(draft_source) {
  for (const auto& prompt : request.prompts) prompt_tokens_ += prompt.size();
  writers_.reserve(choices_.size());
  for (std::size_t i = 0; i < choices_.size(); ++i) writers_.emplace_back(request, i, tokenizer);
  log_.tokens.prompt = prompt_tokens_;
}

ChoiceWriter::Addition AnswerProgress::add(const Generation::Event& event) {
  Choice& choice = choices_[event.index];
  log_.add(choice, event.token, wants_tokens_);
  ChoiceWriter::Addition addition = writers_[event.index].add(event.token);
  for (const ChoiceWriter::Part& part : addition.parts) add_to(choice, part);
  choice.calls_tools = writers_[event.index].calls_tools();
  choice.told.insert(choice.told.end(), addition.told.begin(), addition.told.end());
  if (event.token.told) choice.logprob += event.token.told->logprob;
  choice.completion_tokens = wants_tokens_ ? event.token.completion_tokens : 0;
  choice.cached_tokens = event.token.cached_tokens;
  choice.drafts = event.token.drafts;
  choice.finish = event.token.finish;
  return addition;
}

Usage AnswerProgress::usage() const {
  Usage usage{.prompt_tokens = prompt_tokens_, .draft_source = draft_source_};
  for (const Choice& choice : choices_) {
    usage.cached_tokens += choice.cached_tokens;
    usage.completion_tokens += choice.completion_tokens;
    usage.drafts.proposed += choice.drafts.proposed;
    usage.drafts.accepted += choice.drafts.accepted;
  }
  return usage;
}

std::string AnswerProgress::answer(const AnswerHead& head, const ModelCard& model) {
  const Usage all = usage();
  if (request_.kind == RequestKind::forge_generate) {
    const Choice& choice = choices_.front();
    return generation_json(head, choice, all, receipt_of(request_, model, choice));
  }
  return answer_json(head, likeliest_choices(std::move(choices_), request_.n, request_.best_of),
                     all);
}

std::vector<std::string> AnswerProgress::last_chunks(const AnswerHead& head,
                                                     const ModelCard& model) const {
  if (request_.kind == RequestKind::forge_generate) {
    const receipt::Receipt receipt = receipt_of(request_, model, choices_.front());
    return {generation_end_json(head, usage(), receipt)};
  }
  if (!request_.include_usage) return {};
  return {ChunkWriter(head).usage(usage())};
}

}  // namespace forge::serve
