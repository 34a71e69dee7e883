#include <nlohmann/json.hpp>

#include "workload_formats.h"

namespace forge::apps {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMillisecondsMax = std::uint64_t{1} << 40;  // 34 years

std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? "(a list)" : "(an object)";
  return "'" + value.dump().substr(0, 40) + "'";
}

bool is_integer_in(const json& value, std::uint64_t low, std::uint64_t high) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() >= low &&
         value.get<std::uint64_t>() <= high;
}

tl::expected<std::uint64_t, std::string> read_number(const json& row, const char* name,
                                                     std::uint64_t low, std::uint64_t high) {
  const auto found = row.find(name);
  if (found == row.end()) return tl::unexpected(std::string(name) + " is missing");
  if (!is_integer_in(*found, low, high)) {
    return tl::unexpected(std::string(name) + " " + shown(*found) + " is not an integer in " +
                          std::to_string(low) + ".." + std::to_string(high));
  }
  return found->get<std::uint64_t>();
}

tl::expected<std::vector<std::uint64_t>, std::string> read_hash_ids(const json& row,
                                                                    std::uint64_t prompt_tokens) {
  const auto found = row.find("hash_ids");
  if (found == row.end()) return tl::unexpected(std::string("hash_ids is missing"));
  if (!found->is_array()) return tl::unexpected("hash_ids " + shown(*found) + " is not a list");
  const std::uint64_t wanted = (prompt_tokens + kHashBlockTokens - 1) / kHashBlockTokens;
  if (found->size() != wanted) {
    return tl::unexpected("hash_ids has " + std::to_string(found->size()) +
                          " elements, accepted: " + std::to_string(wanted) + ", one for each " +
                          std::to_string(kHashBlockTokens) + " tokens of input_length");
  }
  std::vector<std::uint64_t> ids;
  ids.reserve(found->size());
  for (const json& id : *found) {
    if (!id.is_number_unsigned()) {
      return tl::unexpected("hash_ids has " + shown(id) +
                            ", accepted: integers from 0 to 18446744073709551615");
    }
    ids.push_back(id.get<std::uint64_t>());
  }
  return ids;
}

}  // namespace

tl::expected<RecordedRequest, std::string> parse_mooncake_row(std::string_view line) {
  const json row = json::parse(line, nullptr, false);
  if (!row.is_object()) {
    return tl::unexpected("'" + std::string(line.substr(0, 40)) + "' is not a JSON object");
  }
  const auto time_ms = read_number(row, "timestamp", 0, kMillisecondsMax);
  if (!time_ms) return tl::unexpected(time_ms.error());
  const auto prompt_tokens = read_number(row, "input_length", 1, kWorkloadTokensMax);
  if (!prompt_tokens) return tl::unexpected(prompt_tokens.error());
  const auto new_tokens = read_number(row, "output_length", 1, kWorkloadTokensMax);
  if (!new_tokens) return tl::unexpected(new_tokens.error());
  auto ids = read_hash_ids(row, *prompt_tokens);
  if (!ids) return tl::unexpected(ids.error());
  return RecordedRequest{static_cast<std::int64_t>(*time_ms * 1000),
                         {.prompt_tokens = static_cast<std::uint32_t>(*prompt_tokens),
                          .new_tokens = static_cast<std::uint32_t>(*new_tokens),
                          .hash_ids = *std::move(ids)}};
}

}  // namespace forge::apps
