#include "forge/runtime/kv_memory.h"

#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>
#include <string_view>

namespace forge::runtime {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits = {Unit{"B", 1},        Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                               Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"KB", 1e3},
                               Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12}};

constexpr double kBytesMax = 0x1p50;

}  // namespace

std::uint64_t KvMemory::of(std::uint64_t free_bytes) const {
  if (bytes > 0) return bytes;
  return static_cast<std::uint64_t>(fraction * static_cast<double>(free_bytes));
}

tl::expected<KvMemory, std::string> parse_kv_memory(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc() && std::isfinite(number) && number > 0) {
    if (unit == "%" && number <= 100) return KvMemory{.bytes = 0, .fraction = number / 100};
    for (const Unit& known : kUnits) {
      const double bytes = number * known.bytes;
      if (unit == known.name && bytes >= 1 && bytes <= kBytesMax) {
        return KvMemory{.bytes = static_cast<std::uint64_t>(bytes), .fraction = 0};
      }
    }
  }
  return tl::unexpected("'" + text +
                        "' is no amount of memory, accepted: 1B to 1024TiB as in 2GiB or 512MiB, "
                        "or a fraction of the free memory, up to 100%");
}

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  const Unit* unit = &kUnits[0];
  for (const Unit& larger : std::span(kUnits).first<4>()) {
    if (value >= larger.bytes) unit = &larger;
  }
  std::ostringstream out;
  const bool whole = unit == &kUnits[0] || value >= 100 * unit->bytes;
  out << std::fixed << std::setprecision(whole ? 0 : 1) << value / unit->bytes << ' ' << unit->name;
  return out.str();
}

}  // namespace forge::runtime
