// What is wrong with the body of a request (json/fields.h), as an ApiError.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/json/fields.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {

/// The one JSON object that `body` is. Errors: 400, those of json::parse_object.
tl::expected<nlohmann::json, ApiError> parse_body(std::string_view body);

/// 400 about the member at fault; nothing without a fault.
std::optional<ApiError> error_of(const json::Fault& fault);

/// 404: `id` is not the model of this server.
ApiError model_not_found(std::string_view id, const ModelCard& model);

}  // namespace forge::serve
