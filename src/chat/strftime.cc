#include "strftime.h"

#include <array>

#include "unicode.h"

namespace forge::chat::detail {
namespace {

constexpr std::string_view kConversions = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyY";

/// One conversion of strftime(): of the time alone, the locale is "C" unless a program sets it.
void append_conversion(std::string& out, const char* conversion, const std::tm& now) {
  std::array<char, 128> buffer{};
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), conversion, &now);
  out.append(buffer.data(), size);
}

}  // namespace

std::string formatted_time(std::string_view format, const std::tm& now) {
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      out += format[at];
      continue;
    }
    char letter = format[++at];
    char flag = '\0';
    if (std::string_view("-_0^#").find(letter) != std::string_view::npos &&
        at + 1 < format.size()) {
      flag = letter;
      letter = format[++at];
    }
    if (letter == '%') {
      out += '%';
    } else if (letter == 'f') {
      out += "000000";
    } else if (letter == 'z' || letter == 'Z') {
      continue;  // the time is of no zone, as that of datetime.now()
    } else if (kConversions.find(letter) == std::string_view::npos) {
      out += '%';
      if (flag != '\0') out += flag;
      out += letter;
    } else if (flag == '\0') {
      const std::array<char, 3> conversion = {'%', letter, '\0'};
      append_conversion(out, conversion.data(), now);
    } else {
      const std::array<char, 4> conversion = {'%', flag, letter, '\0'};
      append_conversion(out, conversion.data(), now);
    }
  }
  return out;
}

}  // namespace forge::chat::detail
