#include "shown.h"

namespace forge::formats::detail {

std::string printable(std::string_view text) {
  constexpr std::size_t kBytesShown = 64;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, kBytesShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  if (text.size() > kBytesShown) out += "...";
  return out;
}

}  // namespace forge::formats::detail
