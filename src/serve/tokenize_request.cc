// From an UntokenizedRequest to a CompletionRequest: lengths and tokens (openai_api.h).
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "forge/chat/chat_format.h"
#include "forge/grammar/matcher.h"
#include "forge/grammar/output_compiler.h"
#include "forge/serve/openai_api.h"
#include "prompt_text.h"

namespace forge::serve {
namespace {

using Tokens = std::vector<TokenId>;

constexpr const char* kTooLong = "context_length_exceeded";

std::string context_of(const ModelCard& model) {
  return "the context of model '" + model.id + "' has " + std::to_string(model.context_tokens);
}

/// Tokens that a prompt may have beside max_tokens.
std::uint64_t room(const CompletionOptions& options, const ModelCard& model) {
  const auto tokens = std::max<std::uint64_t>(options.max_tokens, 1);  // one is always run
  return model.context_tokens - std::min(tokens, model.context_tokens);
}

std::optional<ApiError> tokens_error(const std::string& name, std::uint64_t tokens,
                                     const CompletionOptions& options, const ModelCard& model) {
  if (tokens <= room(options, model)) return std::nullopt;
  return bad_field(field_of(name),
                   name + " of " + std::to_string(tokens) + " tokens and max_tokens " +
                       std::to_string(options.max_tokens) + " are " +
                       std::to_string(tokens + options.max_tokens) + " tokens; " +
                       context_of(model),
                   kTooLong);
}

std::optional<ApiError> bytes_error(const std::string& name, std::uint64_t bytes,
                                    const CompletionOptions& options, const ModelCard& model,
                                    std::uint64_t token_bytes_max) {
  const std::uint64_t tokens = room(options, model);
  const std::uint64_t tokens_min = bytes / token_bytes_max + (bytes % token_bytes_max > 0 ? 1 : 0);
  if (tokens_min <= tokens) return std::nullopt;
  return bad_field(field_of(name),
                   name + " of " + std::to_string(bytes) + " bytes is too long: max_tokens " +
                       std::to_string(options.max_tokens) + " leaves room for " +
                       std::to_string(tokens) + " tokens, of up to " +
                       std::to_string(token_bytes_max) + " bytes each; accepted are up to " +
                       std::to_string(tokens * token_bytes_max) + " bytes; " + context_of(model) +
                       " tokens",
                   kTooLong);
}

std::string echo_of(const UntokenizedPrompt& prompt, const text::Tokenizer& tokenizer) {
  if (const auto* text = std::get_if<std::string>(&prompt.content)) return *text;
  return tokenizer.decode(std::get<Tokens>(prompt.content));
}

tl::expected<Tokens, ApiError> tokens_of(UntokenizedPrompt& prompt,
                                         const UntokenizedRequest& request, const ModelCard& model,
                                         const text::Tokenizer& tokenizer) {
  if (auto* ids = std::get_if<Tokens>(&prompt.content)) return std::move(*ids);
  const std::string& text = std::get<std::string>(prompt.content);
  const auto token_bytes_max = tokenizer.token_bytes_max();
  if (token_bytes_max) {
    auto error = bytes_error(prompt.name, text.size(), request, model, *token_bytes_max);
    if (error) return tl::unexpected(*std::move(error));
  }
  auto tokens = encode(prompt, request.encode_options, tokenizer);
  if (!tokens) return tokens;
  if (tokens->empty()) {
    return tl::unexpected(
        bad_field(field_of(prompt.name), prompt.name + " is empty; accepted are 1 .. " +
                                             std::to_string(model.context_tokens - 1) + " tokens"));
  }
  return tokens;
}

/// The control tokens that the text of the answer shows: those that grammars know, or its marks.
std::vector<text::SpeltToken> spelt_marks(const UntokenizedRequest& request,
                                          const text::Tokenizer& tokenizer) {
  if (request.sampling.grammar) return text::spelt_tokens(tokenizer, chat::all_marks());
  if (!request.answer) return {};
  return text::spelt_tokens(tokenizer, chat::marks_of(request.answer->form));
}

/// What the end of the prompt decides: whether the answer begins within its reasoning. A call that
/// is forced is so after the reasoning then.
void begin_answer(UntokenizedRequest& request, const UntokenizedPrompt& prompt) {
  const auto* const text = std::get_if<std::string>(&prompt.content);
  if (!request.answer || text == nullptr) return;
  request.answer->in_reasoning = chat::begins_in_reasoning(request.answer->form, *text);
  if (!request.answer->in_reasoning || request.answer->tools.empty()) return;
  OutputGrammar& grammar = *request.sampling.grammar;
  if (!grammar.after.empty()) return;
  grammar.after = chat::kReasoningEnd;
}

/// A call that is forced must be able to end.
std::optional<ApiError> call_error(const UntokenizedRequest& request, const ModelCard& model,
                                   const grammar::Grammar& grammar,
                                   const text::Tokenizer& tokenizer) {
  const bool is_forced = request.sampling.grammar->after.empty();
  if (!is_forced || !request.answer || request.answer->tools.empty()) return std::nullopt;
  // A text with more bytes than that has too many tokens, whatever they are.
  const std::size_t bytes_max = request.max_tokens * tokenizer.token_bytes_max().value_or(64);
  const std::string call = grammar::Matcher(grammar).closing_text(bytes_max + 1);
  const auto shortest = tokenizer.encode(call, {.add_special = false});
  const std::size_t tokens =
      shortest ? shortest->size() : 0;  // another call may do without the byte
  if (tokens <= request.max_tokens) return std::nullopt;
  return bad_field("tool_choice",
                   "tool_choice forces a call, which takes " + std::to_string(tokens) +
                       " tokens or more; max_tokens is " + std::to_string(request.max_tokens) +
                       " here, and " + context_of(model) + " tokens",
                   kTooLong);
}

std::optional<ApiError> grammar_error(const UntokenizedRequest& request, const ModelCard& model,
                                      const text::Tokenizer& tokenizer) {
  if (!request.sampling.grammar) return std::nullopt;
  std::string name = request.grammar_field;
  const std::string field = name.substr(0, name.find('.'));
  if (model.grammars == nullptr) {
    return bad_field(field, name + " is refused: model '" + model.id + "' runs without grammars");
  }
  const auto compiled = model.grammars->compile(*request.sampling.grammar);
  if (compiled) return call_error(request, model, (*compiled)->grammar, tokenizer);
  if (!request.form_fields.empty()) name = request.form_fields[compiled.error().form];
  const grammar::GrammarError& error = compiled.error().error;
  return bad_field(field, name + (error.pointer.empty() ? ": " : " ") + grammar::to_string(error));
}

}  // namespace

ServedChatFormat default_chat_format() {
  static const auto kFormat = std::make_shared<const chat::ChatFormat>(chat::default_chat_format());
  return kFormat;
}

std::optional<ApiError> length_error(const UntokenizedRequest& request, const ModelCard& model,
                                     const text::Tokenizer& tokenizer) {
  if (request.max_tokens >= model.context_tokens) {
    return bad_field("max_tokens",
                     "max_tokens is " + std::to_string(request.max_tokens) +
                         ", which leaves no room for a prompt; " + context_of(model) + " tokens",
                     kTooLong);
  }
  const auto token_bytes_max = tokenizer.token_bytes_max();
  for (const UntokenizedPrompt& prompt : request.prompts) {
    std::optional<ApiError> error;
    if (const auto* ids = std::get_if<Tokens>(&prompt.content)) {
      error = tokens_error(prompt.name, ids->size(), request, model);
    } else if (const auto* text = std::get_if<std::string>(&prompt.content);
               text != nullptr && token_bytes_max) {
      error = bytes_error(prompt.name, text->size(), request, model, *token_bytes_max);
    }
    if (error) return error;
  }
  return std::nullopt;
}

tl::expected<CompletionRequest, ApiError> tokenize(UntokenizedRequest request,
                                                   const ModelCard& model,
                                                   const text::Tokenizer& tokenizer,
                                                   const std::tm& now) {
  CompletionRequest tokenized;
  for (UntokenizedPrompt& prompt : request.prompts) {
    if (auto error = render(prompt, model, now)) return tl::unexpected(*std::move(error));
    begin_answer(request, prompt);
    if (request.echo) tokenized.echoes.push_back(echo_of(prompt, tokenizer));
    auto tokens = tokens_of(prompt, request, model, tokenizer);
    if (!tokens) return tl::unexpected(std::move(tokens.error()));
    if (auto error = tokens_error(prompt.name, tokens->size(), request, model)) {
      return tl::unexpected(std::move(*error));
    }
    if (request.until_context_ends) {
      request.max_tokens = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(model.context_tokens - tokens->size(), kMaxTokensMax));
    }
    tokenized.prompts.push_back(std::move(*tokens));
  }
  if (auto error = grammar_error(request, model, tokenizer)) {
    return tl::unexpected(*std::move(error));
  }
  tokenized.spelt = spelt_marks(request, tokenizer);
  static_cast<CompletionOptions&>(tokenized) = std::move(request);
  const bool ends = tokenized.kind == RequestKind::chat && !tokenized.ignore_eos;
  if (ends && !model.answer_stop.empty()) tokenized.stop.push_back(model.answer_stop);
  return tokenized;
}

}  // namespace forge::serve
