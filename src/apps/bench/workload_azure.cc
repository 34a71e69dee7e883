#include <charconv>
#include <chrono>
#include <optional>

#include "forge/core/quoted.h"
#include "workload_formats.h"

namespace forge::apps {
namespace {

/// All of `text` as a number, or nothing.
std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> number_in(std::string_view text, std::uint32_t low,
                                       std::uint32_t high) {
  const auto value = number(text);
  return value && *value >= low && *value <= high ? value : std::nullopt;
}

/// Microseconds since 1970 of "2023-11-16 18:15:46.6805900".
std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd.";
  if (text.size() <= kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != 'd' && text[i] != kShape[i]) return std::nullopt;
  }
  const auto year = number(text.substr(0, 4));
  const auto month = number(text.substr(5, 2));
  const auto day = number(text.substr(8, 2));
  const auto hour = number_in(text.substr(11, 2), 0, 23);
  const auto minute = number_in(text.substr(14, 2), 0, 59);
  const auto second = number_in(text.substr(17, 2), 0, 60);
  std::string fraction(text.substr(20));
  if (!year || !month || !day || !hour || !minute || !second || fraction.size() > 9 ||
      !number(fraction)) {
    return std::nullopt;
  }
  const year_month_day date(std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                            std::chrono::day(*day));
  if (!date.ok()) return std::nullopt;
  fraction.resize(6, '0');
  const std::int64_t seconds = std::int64_t{86400} * sys_days(date).time_since_epoch().count() +
                               std::int64_t{3600} * *hour + std::int64_t{60} * *minute + *second;
  return seconds * 1'000'000 + *number(fraction);
}

}  // namespace

tl::expected<RecordedRequest, std::string> parse_azure_row(std::string_view line) {
  const std::size_t first = line.find(',');
  const std::size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
  if (second == line.npos || line.find(',', second + 1) != line.npos) {
    return tl::unexpected(in_quotes(line) + " does not have three columns");
  }
  const auto time = parse_timestamp(line.substr(0, first));
  if (!time) {
    return tl::unexpected("TIMESTAMP " + in_quotes(line.substr(0, first)) +
                          " is not of the form YYYY-MM-DD hh:mm:ss.fraction");
  }
  const std::string_view context = line.substr(first + 1, second - first - 1);
  const std::string_view generated = line.substr(second + 1);
  const std::string accepted = " is not an integer in 1.." + std::to_string(kWorkloadTokensMax);
  const auto prompt_tokens = number_in(context, 1, kWorkloadTokensMax);
  if (!prompt_tokens) return tl::unexpected("ContextTokens " + in_quotes(context) + accepted);
  const auto new_tokens = number_in(generated, 1, kWorkloadTokensMax);
  if (!new_tokens) return tl::unexpected("GeneratedTokens " + in_quotes(generated) + accepted);
  return RecordedRequest{*time, {.prompt_tokens = *prompt_tokens, .new_tokens = *new_tokens}};
}

}  // namespace forge::apps
