#include "in_quotes.h"

namespace forge::text::detail {

std::string in_quotes(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "'";
  for (const char c : text.substr(0, 64)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out.push_back(c);
    } else {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out + (text.size() > 64 ? "'..." : "'");
}

}  // namespace forge::text::detail
