#include "cors.h"

#include "routes.h"

namespace forge::serve {
namespace {

constexpr const char* kFields = "Authorization, Content-Type, X-Request-Id";
constexpr const char* kPreflightSeconds = "600";  // for which a browser need not ask again

}  // namespace

std::string allowed_origin(const HttpHeader& header, const HttpOptions& options, bool has_keys) {
  if (!has_keys && audience_of(header, options) == Audience::operators) return "";
  return options.cors_origins.answer_to(view(header[http::field::origin]));
}

std::optional<Reply> answer_preflight(const HttpHeader& header, const HttpOptions& options,
                                      bool has_keys) {
  if (header.method() != http::verb::options) return std::nullopt;
  if (header.count(http::field::access_control_request_method) == 0) return std::nullopt;
  const std::string methods = methods_of(path_of(header));
  if (methods.empty() || allowed_origin(header, options, has_keys).empty()) return std::nullopt;
  return Reply{.status = 204,
               .headers = {{http::field::access_control_allow_methods, methods},
                           {http::field::access_control_allow_headers, kFields},
                           {http::field::access_control_max_age, kPreflightSeconds}}};
}

}  // namespace forge::serve
