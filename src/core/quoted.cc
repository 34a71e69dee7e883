#include "forge/core/quoted.h"

namespace forge {

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  if (text.size() > kShownBytes) out += "...";
  return out;
}

}  // namespace forge
