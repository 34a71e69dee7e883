// The API as pure functions: the text of a body becomes a request or an ApiError, and what was
// generated becomes the text of an answer. No I/O, no clock, no state.
//
// request_fields.h lists every field, those that OpenAI documents and Forge's own, which OpenAI's
// client sends by `extra_body`: each is honoured or refused by name. The members of an object
// `extra` count as fields of the body.
//
// A request that is out of time is answered like any other, with the text so far, which may be
// empty, and the finish_reason "deadline". OpenAI knows no such reason: "length" would say that the
// caller's max_tokens was reached, "stop" that the model was done, and an error would throw away
// text that the caller can use. A client that sets no limit, on a server without one, never meets
// it.
//
// usage.prompt_tokens_details.cached_tokens is, as with OpenAI, the number of prompt tokens that
// were not run because their KV was there.
//
// A request without a seed has seed 0: the answer depends on the request alone.
//
// A body becomes a request in two steps, so that no text is turned into tokens in vain:
//
//   body --parse_request--> UntokenizedRequest --tokenize--> CompletionRequest
//                            |
//                            +-- length_error: far too long for the model?
//
// The first looks at every field and needs no tokenizer; the second takes time in proportion to the
// text and may run on another thread.
//
// POST /forge/v1/generate takes one prompt and answers with token ids, what is told of each, and a
// Receipt (receipt/receipt.h), which comes last in a stream. It runs as any other request does.
//
// POST /generate takes one prompt as a text and decodes greedily unless asked otherwise.
// POST /v1/chat/completions takes messages, which the model's chat template makes the one prompt
// (chat/chat_format.h). Rendering is part of tokenize(). With `session` they are the new ones of a
// conversation whose others the server has kept; the answer says in "forge" how many these were.
//
// Source: OpenAI API reference, "Completions" and "Chat".
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "forge/chat/answer_parser.h"
#include "forge/core/request.h"
#include "forge/core/step_plan.h"
#include "forge/engine/draft_watch.h"
#include "forge/receipt/fingerprint.h"
#include "forge/serve/api_error.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/request_fields.h"
#include "forge/text/text_stream.h"
#include "forge/text/tokenizer.h"

namespace forge::chat {
struct ChatFormat;
struct Conversation;
}  // namespace forge::chat
namespace forge::grammar {
class OutputCompiler;
}

namespace forge::serve {

/// How conversations with the model are spelt, or why its template cannot be used.
using ServedChatFormat = tl::expected<std::shared_ptr<const chat::ChatFormat>, std::string>;
ServedChatFormat default_chat_format();

/// Bytes of the target's memory by what they are for.
struct ServedMemory {
  std::string_view memory;  ///< "host" or "device"
  std::string_view use;     ///< "weights", "scratch" or "kv"
  std::uint64_t bytes = 0;
};

/// What the API needs to know of the model that it serves.
struct ModelCard {
  std::string id;
  std::uint32_t vocabulary_size = 0;  ///< token ids of a prompt are below it
  std::uint64_t context_tokens = 0;   ///< prompt + max_tokens of a request may not exceed it
  std::int64_t created = 0;           ///< seconds since 1970
  ServedChatFormat chat = default_chat_format();
  /// Makes the grammars of requests; null: they are refused.
  std::shared_ptr<grammar::OutputCompiler> grammars = nullptr;
  std::string answer_stop = {};        ///< a stop string of chat (LoadedModel::answer_stop), if any
  std::string_view draft_source = {};  ///< what proposes drafts; empty: nothing does
  std::string_view kv_type = {};       ///< what is kept in the KV cache: "bf16"
  std::vector<ServedMemory> memory = {};
  /// What its bits depend on beside requests (receipt/fingerprint.h); none where no model runs:
  /// then answers have no system_fingerprint, and there are no receipts.
  std::optional<receipt::Fingerprint> fingerprint = std::nullopt;
};

inline constexpr std::uint32_t kMaxTokensMax = (1U << 31U) - 1;

/// Ids of sessions are from 0 to this, which a signed 64-bit integer can hold.
inline constexpr std::uint64_t kSessionIdMax = (std::uint64_t{1} << 63) - 1;

/// What the prompts of one request share.
struct CompletionOptions {
  RequestKind kind = RequestKind::completions;
  std::uint32_t n = 1;  ///< choices of each prompt that are answered
  /// Choices of each prompt that are run, at least n: choice i with the seed of `sampling` + i. If
  /// there are more, the n likeliest are answered (likeliest_choices).
  std::uint32_t best_of = 1;
  std::uint32_t max_tokens = 16;
  SamplingParams sampling;
  bool echo = false;  ///< the text of a choice begins with that of its prompt
  std::vector<std::string> stop;
  bool stream = false;
  bool include_usage = false;     ///< in an event at the end of a stream
  bool continuous_usage = false;  ///< in each event
  /// Nothing: normal, or the highest that the client may ask for, if that is lower.
  std::optional<Priority> priority;
  PrefixCacheUse prefix_cache = PrefixCacheUse::automatic;
  std::string cache_salt;  ///< what requests that share prefixes have in common; may be empty
  Owner owner;             ///< whose sessions, prefixes and users are meant
  ClientId client;         ///< whose share of the machine they have, of weight `weight`
  std::uint32_t weight = 1;
  std::string user;  ///< for whom the client asks; may be empty
  /// As the client calls it; with one prompt. Of chat: its `messages` are what comes next.
  std::optional<SessionId> session;
  std::optional<std::chrono::milliseconds> time_limit;
  std::uint64_t deadline_steps = 0;
  bool ignore_eos = false;
  /// How an answer of chat is taken apart; none where it is text alone.
  std::optional<chat::AnswerRules> answer;

  friend bool operator==(const CompletionOptions&, const CompletionOptions&) = default;
};

/// One prompt as its body has it; token ids are of the vocabulary.
struct UntokenizedPrompt {
  std::string name;  ///< "prompt", "prompt[2]" or "messages", for errors
  std::variant<std::string, std::vector<TokenId>, std::shared_ptr<const chat::Conversation>>
      content;
};

/// The body of a POST, checked but for the lengths of its prompts.
struct UntokenizedRequest : CompletionOptions {
  std::string model;                       ///< empty where none is named
  std::vector<UntokenizedPrompt> prompts;  ///< at least one
  /// No max_tokens was given: it is 1 here, and what the context leaves once the prompt is known.
  bool until_context_ends = false;
  text::EncodeOptions encode_options;  ///< for prompts that are texts
  std::string grammar_field;  ///< what says sampling.grammar: "response_format.json_schema.schema"
  std::optional<std::uint64_t> session_messages;  ///< so many must the session have
  std::vector<std::string> form_fields;           ///< what says each of its forms, if that differs
  bool render_only = false;                       ///< nothing runs: its tokens are the answer
  bool token_strs = false;                        ///< of /tokenize: spellings beside the ids
  bool with_pieces = false;                       ///< of /tokenize: each token with its text
};

/// The request that is run. prompts[i] becomes the choices best_of i .. best_of (i + 1) - 1.
struct CompletionRequest : CompletionOptions {
  std::vector<std::vector<TokenId>> prompts;  ///< at least one, none empty
  std::vector<std::string> echoes;            ///< [prompts] their texts, if the answer echoes them
  std::vector<text::SpeltToken> spelt;        ///< control tokens that its text shows
  std::string trace_id;                       ///< of the header traceparent; empty without one

  std::size_t choices() const { return prompts.size() * best_of; }

  friend bool operator==(const CompletionRequest&, const CompletionRequest&) = default;
};

/// Errors: 400 with the field at fault in `param`, or 404 for a model that is not `model`.
tl::expected<UntokenizedRequest, ApiError> parse_request(RequestKind kind, std::string_view body,
                                                         const ModelCard& model);

/// The error 400 for a prompt that does not fit into the context beside max_tokens, as far as that
/// is known before texts are tokens: by the number of token ids, or of bytes
/// (Tokenizer::token_bytes_max).
std::optional<ApiError> length_error(const UntokenizedRequest& request, const ModelCard& model,
                                     const text::Tokenizer& tokenizer);

/// Turns the texts into tokens of `tokenizer`, and messages into texts before; a template that
/// prints the date prints `now`. Compiles the grammar, which the engine will ask for. Errors: 400
/// for a grammar that is refused, by field, JSON pointer and keyword; for messages that the
/// template refuses, in its words, or cannot render; for a prompt without tokens, or with more than
/// fit into the context beside max_tokens.
tl::expected<CompletionRequest, ApiError> tokenize(UntokenizedRequest request,
                                                   const ModelCard& model,
                                                   const text::Tokenizer& tokenizer,
                                                   const std::tm& now);

/// A token of an answer with what was asked of it.
struct ToldText {
  std::string bytes;
  std::size_t offset = 0;                       ///< characters of the choice's text before it
  std::optional<float> logprob = std::nullopt;  ///< none of the first token of a prompt
  std::vector<std::pair<std::string, float>> likely = {};  ///< the likeliest: bytes, the best first
  std::optional<float> flip_risk = std::nullopt;  ///< TokenReport::margin of a token of the output
  TokenId token = {};
};

/// A call of a tool, or what an event adds to one.
struct ToolCall {
  std::string id;  ///< names it in the conversation; empty of what is added
  std::string tool;
  std::string arguments;  ///< as the model wrote them
};

struct Choice {
  std::string text;  ///< of chat, without what follows
  std::string reasoning;
  std::vector<ToolCall> calls;
  std::vector<ToldText> told;  ///< its tokens, if anything was asked of them
  std::uint32_t completion_tokens = 0;
  double logprob = 0.0;             ///< of all its tokens, where they were asked for
  std::uint32_t cached_tokens = 0;  ///< tokens of its prompt whose KV was there
  engine::DraftCounts drafts;
  FinishReason finish = FinishReason::none;
  bool calls_tools = false;  ///< it has calls, and all of them are whole
};

/// Of the `best_of` choices of each prompt the n with the highest mean log-probability of their
/// tokens, the best first; of equal ones those with the lower seeds.
std::vector<Choice> likeliest_choices(std::vector<Choice> choices, std::uint32_t n,
                                      std::uint32_t best_of);

struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;  ///< prompt tokens whose KV was there
  std::uint64_t completion_tokens = 0;
  engine::DraftCounts drafts = {};
  std::string_view draft_source = {};  ///< ModelCard's; empty: usage says nothing of drafts
};

/// What all parts of one answer have in common.
struct AnswerHead {
  RequestKind kind = RequestKind::completions;
  std::string id;            ///< "cmpl-1"
  std::int64_t created = 0;  ///< seconds since 1970
  std::string model;
  std::optional<std::uint64_t> session_messages = std::nullopt;  ///< that the session had before
  std::string system_fingerprint = {};  ///< of the model; empty: the answer has none
};

/// "stop" for eos and stop strings, or "tool_calls" if the answer calls tools, "length" for
/// max_tokens, "deadline" for a request that is out of time; nullopt while it is not finished.
std::optional<std::string_view> finish_reason_name(FinishReason reason, bool calls_tools = false);

/// The answer as the kind of request has it.
std::string answer_json(const AnswerHead& head, std::span<const Choice> choices,
                        const Usage& usage);

/// One event of a stream: the text that one token added to choice `index`, or a part of it. With
/// `usage_follows`, chunks carry "usage": null, and one more with the usage ends the stream; with
/// `usage`, each carries it as it stands.
struct Chunk {
  std::size_t index = 0;
  bool first = false;  ///< of its choice
  std::string_view text;
  std::string_view reasoning = {};
  const ToolCall* call = nullptr;  ///< the one at `call_index`, or what is added to it
  std::size_t call_index = 0;
  std::span<const ToldText> told = {};
  FinishReason finish = FinishReason::none;
  bool calls_tools = false;
  bool usage_follows = false;
  std::optional<Usage> usage;
};

/// Writes the events of one stream, a JSON object each. What all of them begin with is made once,
/// so an event costs what it says of its token.
class ChunkWriter {
 public:
  explicit ChunkWriter(const AnswerHead& head);

  std::string chunk(const Chunk& chunk) const;
  /// The last event of a stream that was asked for its usage.
  std::string usage(const Usage& usage) const;

 private:
  RequestKind kind_;
  std::string beginning_;  // without the brace that ends it
  std::string session_;    // what stands behind the choices, if anything
};

std::string models_json(const ModelCard& model);  ///< the list of GET /v1/models
std::string model_json(const ModelCard& model);   ///< one entry of it

}  // namespace forge::serve
