#include "forge/serve/api_error.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace forge::serve {
namespace {

constexpr std::size_t kQuotedBytesMax = 200;

nlohmann::ordered_json or_null(const std::optional<std::string>& text) {
  if (text) return *text;
  return nullptr;
}

}  // namespace

ApiError request_error(unsigned status, std::string message, std::optional<std::string> code) {
  return {.status = status, .message = std::move(message), .code = std::move(code)};
}

ApiError server_error(unsigned status, std::string message, std::string code) {
  return {.status = status,
          .message = std::move(message),
          .type = "server_error",
          .code = std::move(code)};
}

std::string shortened(std::string_view text) {
  if (text.size() <= kQuotedBytesMax) return std::string(text);
  std::size_t kept = kQuotedBytesMax - 3;
  // Not within a character: its continuation bytes are 10xxxxxx.
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
  return std::string(text.substr(0, kept)) + "...";
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
