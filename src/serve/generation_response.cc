#include "generation_response.h"

#include "forge/core/check.h"
#include "response_json.h"

namespace forge::serve {
namespace {

using Json = ResponseJson;

/// `source`: a Choice or a Chunk.
void add_tokens(const auto& source, Json& body) {
  body["text"] = source.text;
  body["tokens"] = Json::array();
  body["logprobs"] = Json::array();
  for (const ToldText& token : source.told) {
    body["tokens"].push_back(token.token.value);
    body["logprobs"].push_back(token.logprob.value_or(0.0F));
  }
  body["flip_risk"] = flip_risk_json(source.told);
  body["finish_reason"] = finish_json(source.finish, false);
}

void add_end(const Usage& usage, const receipt::Receipt& receipt, Json& body) {
  body["usage"] = usage_json(usage);
  body["receipt"] = to_json(receipt);
}

}  // namespace

receipt::Receipt receipt_of(const CompletionRequest& request, const ModelCard& model,
                            const Choice& choice) {
  FORGE_CHECK(model.fingerprint && choice.told.size() == choice.completion_tokens);
  receipt::Receipt receipt{
      .model = model.id,
      .fingerprint = *model.fingerprint,
      .request = receipt::request_in_receipt({.prompt = request.prompts.front(),
                                              .max_new_tokens = request.max_tokens,
                                              .sampling = request.sampling,
                                              .ignore_eos = request.ignore_eos}),
      .stop = request.stop,
      .output = {},
      .finish = choice.finish};
  for (const ToldText& token : choice.told) {
    receipt.output.push_back(receipt::ReceiptToken::of(token.token, token.logprob.value_or(0.0F),
                                                       token.flip_risk.value_or(0.0F)));
  }
  return receipt;
}

std::string generation_json(const AnswerHead& head, const Choice& choice, const Usage& usage,
                            const receipt::Receipt& receipt) {
  Json body = beginning_json(head, false);
  add_tokens(choice, body);
  add_end(usage, receipt, body);
  return text_of(body);
}

ResponseJson generation_chunk(const Chunk& chunk) {
  Json body;
  add_tokens(chunk, body);
  return body;
}

std::string generation_end_json(const AnswerHead& head, const Usage& usage,
                                const receipt::Receipt& receipt) {
  Json body = beginning_json(head, true);
  add_end(usage, receipt, body);
  return text_of(body);
}

}  // namespace forge::serve
