#include "request_body.h"

#include <nlohmann/json.hpp>

#include "forge/core/quoted.h"

namespace forge::serve {

std::optional<ApiError> read_body(std::string_view body,
                                  const std::function<void(const json::Fields&)>& read) {
  if (body.empty()) return request_error(400, "the body is empty; accepted is a JSON object");
  const auto object = json::parse_object(body);
  if (!object) return request_error(400, "the body: " + to_string(object.error()));
  json::Fault fault;
  const json::Fields fields(*object, "", fault);
  read(fields);
  fields.finish();
  if (!fault.is_set()) return std::nullopt;
  std::optional<std::string> code;
  if (fault.kind == json::Fault::Kind::unknown) code = "unknown_parameter";
  if (fault.kind == json::Fault::Kind::unsupported) code = "unsupported_parameter";
  return bad_field(fault.name, fault.message, code);
}

ApiError model_not_found(std::string_view id, const ModelCard& model) {
  return {.status = 404,
          .message =
              "the model " + in_quotes(id) + " does not exist; this server has '" + model.id + "'",
          .param = "model",
          .code = "model_not_found"};
}

}  // namespace forge::serve
