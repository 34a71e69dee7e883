// Workload: the requests of a benchmark run, by arrival, length and index.
//
// The text of a request is synthesised from its index by the counter-based generator: request
// i has the same prompt in every run and every mode, whatever else is in the workload.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/request.h"

namespace forge {

struct WorkloadItem {
  std::uint64_t arrival_us = 0;  ///< since the first arrival
  std::uint32_t prompt_tokens = 0;
  std::uint32_t new_tokens = 0;

  friend bool operator==(const WorkloadItem&, const WorkloadItem&) = default;
};
/// In order of arrival.
using Workload = std::vector<WorkloadItem>;

/// `count` requests at time 0 with prompts of 16 to 64 tokens and 64 new tokens.
Workload synthetic_workload(std::size_t count);

/// The first `limit` requests of a recorded workload. The format is told by the first line:
///   TIMESTAMP,ContextTokens,GeneratedTokens     Azure LLM inference traces 2023
///   2023-11-16 18:15:46.6805900,374,44
/// Errors: an unknown first line, a bad row (with its line), no requests.
tl::expected<Workload, std::string> read_workload(std::istream& in, std::size_t limit);

/// Request number `index`: byte tokens 1..256 from the generator; generation ignores the end
/// token, so that its length is that of the item.
Request make_request(const WorkloadItem& item, std::uint64_t index);

}  // namespace forge
