// ApiError: why a request was not answered, in OpenAI's form.
//
//   HTTP 400
//   {"error": {"message": "...", "type": "invalid_request_error", "param": "seed", "code": null}}
//
// Owns its text. Source of the form: OpenAI API reference, "Error codes".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::serve {

struct ApiError {
  unsigned status = 400;  ///< HTTP status
  std::string message;    ///< names the thing, the value and what is accepted
  std::string type = "invalid_request_error";
  std::optional<std::string> param = std::nullopt;  ///< the field at fault
  std::optional<std::string> code = std::nullopt;   ///< for programs
};

/// The request is at fault.
ApiError request_error(unsigned status, std::string message,
                       std::optional<std::string> code = std::nullopt);

/// The error 400 about the field `param` of the body.
ApiError bad_field(std::string_view param, std::string message,
                   std::optional<std::string> code = std::nullopt);

/// The request is fine; the server cannot answer it, now or at all.
ApiError server_error(unsigned status, std::string message, std::string code);

/// The JSON body of the answer. Bytes of the message that are not UTF-8 become U+FFFD.
std::string to_json(const ApiError& error);

}  // namespace forge::serve
