// The little of URIs that references within a schema need.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::grammar {

/// `reference` against `base`, RFC 3986 section 5.2. A fragment of the base goes.
std::string resolved_uri(std::string_view base, std::string_view reference);

/// nullopt where "%" is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace forge::grammar
