// The same JSON value as several texts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace forge::grammar::testing {

using Json = nlohmann::json;

enum class JsonForm : std::uint8_t { compact, spaced, indented, escaped, reversed };
inline constexpr JsonForm kJsonForms[] = {JsonForm::compact, JsonForm::spaced, JsonForm::indented,
                                          JsonForm::escaped, JsonForm::reversed};

/// Numbers without an exponent. `escaped`: each character as \u; `reversed`: keys last first.
std::string json_text(const Json& value, JsonForm form);

}  // namespace forge::grammar::testing
