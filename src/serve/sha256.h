// SHA-256 of a text, by OpenSSL. Source: FIPS 180-4, section 6.2.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace forge::serve {

std::array<std::uint8_t, 32> sha256(std::string_view text);

}  // namespace forge::serve
