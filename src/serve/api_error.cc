#include "forge/serve/api_error.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace forge::serve {
namespace {

nlohmann::ordered_json or_null(const std::optional<std::string>& text) {
  if (text) return *text;
  return nullptr;
}

}  // namespace

ApiError request_error(unsigned status, std::string message, std::optional<std::string> code) {
  return {.status = status, .message = std::move(message), .code = std::move(code)};
}

ApiError bad_field(std::string_view param, std::string message, std::optional<std::string> code) {
  return {.message = std::move(message), .param = std::string(param), .code = std::move(code)};
}

ApiError server_error(unsigned status, std::string message, std::string code) {
  return {.status = status,
          .message = std::move(message),
          .type = "server_error",
          .code = std::move(code)};
}

std::string to_json(const ApiError& error) {
  const nlohmann::ordered_json body = {{"error",
                                        {{"message", error.message},
                                         {"type", error.type},
                                         {"param", or_null(error.param)},
                                         {"code", or_null(error.code)}}}};
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace forge::serve
