// The readers of openai_api.h: from a body to an UntokenizedRequest.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "field_readers.h"
#include "forge/serve/openai_api.h"
#include "request_body.h"

namespace forge::serve {
namespace {

tl::expected<UntokenizedRequest, ApiError> parse(std::string_view body, const ModelCard& model,
                                                 RequestKind kind) {
  UntokenizedRequest request;
  auto error = read_body(
      body,
      [&](const json::Fields& fields) {
        const Reading reading{fields, model, kind, request};
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

tl::expected<UntokenizedRequest, ApiError> parse_completion_request(std::string_view body,
                                                                    const ModelCard& model) {
  auto request = parse(body, model, RequestKind::completions);
  if (request && request->model != model.id) {
    return tl::unexpected(model_not_found(request->model, model));
  }
  return request;
}

tl::expected<UntokenizedRequest, ApiError> parse_generate_request(std::string_view body,
                                                                  const ModelCard& model) {
  return parse(body, model, RequestKind::generate);
}

}  // namespace forge::serve
