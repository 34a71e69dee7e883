#include <nlohmann/json.hpp>

#include "forge/json/fields.h"
#include "workload_formats.h"

namespace forge::apps {
namespace {

constexpr IntegerRange kMilliseconds = {0, std::int64_t{1} << 40};  // 34 years
constexpr IntegerRange kTokenCounts = {1, kWorkloadTokensMax};

std::vector<std::uint64_t> read_hash_ids(const json::Fields& row, std::uint32_t prompt_tokens) {
  std::vector<std::uint64_t> ids;
  const nlohmann::json& found = row.items("hash_ids");
  const std::uint64_t wanted = (prompt_tokens + kHashBlockTokens - 1) / kHashBlockTokens;
  if (found.size() != wanted) {
    row.refuse("hash_ids", "has " + std::to_string(found.size()) + " elements; accepted are " +
                               std::to_string(wanted) + ", one for each " +
                               std::to_string(kHashBlockTokens) + " tokens of input_length");
    return ids;
  }
  ids.reserve(found.size());
  for (const nlohmann::json& id : found) {
    if (!id.is_number_unsigned()) {
      row.refuse("hash_ids",
                 "has " + json::shown(id) + "; accepted are integers, 0 .. 18446744073709551615");
      return ids;
    }
    ids.push_back(id.get<std::uint64_t>());
  }
  return ids;
}

}  // namespace

tl::expected<RecordedRequest, std::string> parse_mooncake_row(std::string_view line) {
  const auto object = json::parse_object(line);
  if (!object) return tl::unexpected(to_string(object.error()));
  json::Fault fault;
  const json::Fields row(*object, "", fault);
  RecordedRequest request;
  request.time_us = 1000 * row.integer<std::int64_t>("timestamp", kMilliseconds);
  request.item.prompt_tokens = row.integer<std::uint32_t>("input_length", kTokenCounts);
  request.item.new_tokens = row.integer<std::uint32_t>("output_length", kTokenCounts);
  request.item.hash_ids = read_hash_ids(row, request.item.prompt_tokens);
  if (fault.is_set()) return tl::unexpected(std::move(fault.message));
  return request;
}

}  // namespace forge::apps
