#include "request_body.h"

#include <nlohmann/json.hpp>

#include "forge/core/quoted.h"

namespace forge::serve {

namespace {

/// Moves the members of `extra` beside it.
void take_extra(nlohmann::json& object, json::Fault& fault) {
  const auto found = object.find("extra");
  if (found == object.end()) return;
  const nlohmann::json extra = std::move(*found);
  object.erase(found);
  if (extra.is_null()) return;
  if (!extra.is_object()) {
    return fault.set("extra is " + json::shown(extra) + "; accepted is an object", "extra");
  }
  for (const auto& [name, value] : extra.items()) {
    if (object.contains(name)) {
      const std::string inside = "extra." + printable(name);
      return fault.set(inside + " is there, and so is the field outside; accepted is either",
                       inside);
    }
    object[name] = value;
  }
}

}  // namespace

std::optional<ApiError> read_body(std::string_view body,
                                  const std::function<void(const json::Fields&)>& read,
                                  bool takes_extra) {
  return read_object("the body", body, read, takes_extra);
}

std::optional<ApiError> read_object(const std::string& name, std::string_view text,
                                    const std::function<void(const json::Fields&)>& read,
                                    bool takes_extra) {
  if (text.empty()) return request_error(400, name + " is empty; accepted is a JSON object");
  auto object = json::parse_object(text);
  if (!object) return request_error(400, name + ": " + to_string(object.error()));
  json::Fault fault;
  if (takes_extra) take_extra(*object, fault);
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
