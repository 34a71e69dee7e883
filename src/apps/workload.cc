#include "workload.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <istream>
#include <optional>
#include <string_view>

#include "forge/numerics/philox.h"

namespace forge {
namespace {

constexpr std::uint64_t kPromptKey = 0x666f7267652e3031;  // "forge.01"
constexpr std::uint32_t kPromptStream = 0;
constexpr std::uint32_t kLengthStream = 1;
constexpr std::uint32_t kTokensMax = 1u << 20;
constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";

/// Word `position` of request `index` in `stream`.
std::uint32_t draw(std::uint64_t index, std::uint32_t position, std::uint32_t stream) {
  const numerics::Words4 words =
      numerics::philox({{position / 4, static_cast<std::uint32_t>(index),
                         static_cast<std::uint32_t>(index >> 32), stream}},
                       kPromptKey);
  return words.x[position % 4];
}

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

struct AzureRow {
  std::int64_t time_us = 0;
  WorkloadItem item;
};

tl::expected<AzureRow, std::string> parse_azure_row(std::string_view line) {
  const auto shown = [](std::string_view text) {
    return "'" + std::string(text.substr(0, 40)) + "'";
  };
  const std::size_t first = line.find(',');
  const std::size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
  if (second == line.npos || line.find(',', second + 1) != line.npos) {
    return tl::unexpected(shown(line) + " does not have three columns");
  }
  const auto time = parse_timestamp(line.substr(0, first));
  if (!time) {
    return tl::unexpected("TIMESTAMP " + shown(line.substr(0, first)) +
                          " is not of the form YYYY-MM-DD hh:mm:ss.fraction");
  }
  const std::string_view context = line.substr(first + 1, second - first - 1);
  const std::string_view generated = line.substr(second + 1);
  const std::string accepted = " is not an integer in 1.." + std::to_string(kTokensMax);
  const auto prompt_tokens = number_in(context, 1, kTokensMax);
  if (!prompt_tokens) return tl::unexpected("ContextTokens " + shown(context) + accepted);
  const auto new_tokens = number_in(generated, 1, kTokensMax);
  if (!new_tokens) return tl::unexpected("GeneratedTokens " + shown(generated) + accepted);
  return AzureRow{*time, {0, *prompt_tokens, *new_tokens}};
}

/// getline without the carriage return of files that were edited elsewhere.
bool read_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace

Workload synthetic_workload(std::size_t count) {
  Workload workload(count);
  for (std::size_t i = 0; i < count; ++i) {
    workload[i] = {0, 16 + draw(i, 0, kLengthStream) % 49, 64};
  }
  return workload;
}

tl::expected<Workload, std::string> read_workload(std::istream& in, std::size_t limit) {
  std::string line;
  if (!read_line(in, line) || line != kAzureHeader) {
    return tl::unexpected("line 1: unknown format '" + line.substr(0, 60) + "'; known: '" +
                          std::string(kAzureHeader) + "'");
  }
  std::vector<AzureRow> rows;
  for (std::size_t number = 2; rows.size() < limit && read_line(in, line); ++number) {
    auto row = parse_azure_row(line);
    if (!row) return tl::unexpected("line " + std::to_string(number) + ": " + row.error());
    rows.push_back(*row);
  }
  if (rows.empty()) return tl::unexpected(std::string("no requests"));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const AzureRow& a, const AzureRow& b) { return a.time_us < b.time_us; });
  Workload workload;
  for (AzureRow& row : rows) {
    row.item.arrival_us = static_cast<std::uint64_t>(row.time_us - rows.front().time_us);
    workload.push_back(row.item);
  }
  return workload;
}

Request make_request(const WorkloadItem& item, std::uint64_t index) {
  Request request{.max_new_tokens = item.new_tokens, .sampling = {}, .ignore_eos = true};
  request.prompt.reserve(item.prompt_tokens);
  for (std::uint32_t position = 0; position < item.prompt_tokens; ++position) {
    request.prompt.emplace_back(1 + draw(index, position, kPromptStream) % 256);
  }
  return request;
}

}  // namespace forge
