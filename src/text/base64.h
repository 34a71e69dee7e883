// Base64, in which tokenizer.json has binary tables (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::text::detail {

/// The bytes; none if `text` is anything but whole groups of four characters, the last filled up
/// with '='.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace forge::text::detail
