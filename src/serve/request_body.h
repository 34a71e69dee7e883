// The body of a request, read by json/fields.h, with what is wrong with it as an ApiError.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "forge/json/fields.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {

/// Reads the one JSON object that `body` is: read(fields) asks for all of its members. With
/// `takes_extra`, the members of its object `extra` count as its own. Errors: 400; those of
/// json::parse_object, or about the member at fault.
std::optional<ApiError> read_body(std::string_view body,
                                  const std::function<void(const json::Fields&)>& read,
                                  bool takes_extra = false);

/// The same of another text that is one object, which errors call `name`: "the line".
std::optional<ApiError> read_object(const std::string& name, std::string_view text,
                                    const std::function<void(const json::Fields&)>& read,
                                    bool takes_extra = false);

/// 404: `id` is not the model of this server.
ApiError model_not_found(std::string_view id, const ModelCard& model);

}  // namespace forge::serve
