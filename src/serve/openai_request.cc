// The readers of openai_api.h: from a body to an UntokenizedRequest.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "field_readers.h"
#include "forge/serve/openai_api.h"
#include "request_body.h"

namespace forge::serve {
namespace {

tl::expected<UntokenizedRequest, ApiError> parse(RequestKind kind, std::string_view body,
                                                 const ModelCard& model) {
  UntokenizedRequest request;
  request.kind = kind;
  auto error = read_body(
      body,
      [&](const json::Fields& fields) {
        const Reading reading{fields, body, model, kind, request};
        for (const auto& [field, read] : field_readers()) {
          if (!field.is_of(kind)) continue;
          if (read != nullptr) {
            read(reading);
          } else {
            fields.only(field.name, nlohmann::json::parse(field.accepted));
          }
        }
      },
      true);
  if (error) return tl::unexpected(*std::move(error));
  return request;
}

}  // namespace

tl::expected<UntokenizedRequest, ApiError> parse_request(RequestKind kind, std::string_view body,
                                                         const ModelCard& model) {
  auto request = parse(kind, body, model);
  if (!request) return request;
  if (kind == RequestKind::forge_generate) {  // what a receipt has of each token
    request->sampling.logprobs = 0;
    request->sampling.margins = true;
  }
  const bool may_lack_model = kind == RequestKind::generate || is_of_tokenizer(kind);
  if (request->model != model.id && !(may_lack_model && request->model.empty())) {
    return tl::unexpected(model_not_found(request->model, model));
  }
  if (request->prompts.size() != 1 && is_of_tokenizer(kind)) {
    return tl::unexpected(
        bad_field("prompt", "there are " + std::to_string(request->prompts.size()) +
                                " of prompt, content and messages; accepted is one of them"));
  }
  return request;
}

}  // namespace forge::serve
