// Workload: the requests of a benchmark run, by arrival, length and prompt.
//
// The text of a request is synthesised by the counter-based generator, from its index or, where
// the recording says which requests begin alike, from the ids of its prompt's blocks: the same
// prompt in every run and every mode, whatever else is in the workload.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/request.h"

namespace forge::apps {

/// Prompt tokens that one hash id stands for.
inline constexpr std::uint32_t kHashBlockTokens = 512;

struct WorkloadItem {
  std::uint64_t arrival_us = 0;  ///< since the first arrival
  std::uint32_t prompt_tokens = 0;
  std::uint32_t new_tokens = 0;
  /// One id for each 512 tokens of the prompt, the last for what is left: equal ids, equal
  /// tokens. Empty: the prompt is that of the request's index and like no other.
  std::vector<std::uint64_t> hash_ids = {};
  Priority priority = Priority::normal;

  friend bool operator==(const WorkloadItem&, const WorkloadItem&) = default;
};
/// Requests in order of arrival.
using Workload = std::vector<WorkloadItem>;

/// `count` requests at time 0 with prompts of 16 to 64 tokens and 64 new tokens.
Workload synthetic_workload(std::size_t count);

/// The first `limit` requests of a recorded workload. The format is told by the first line:
///   TIMESTAMP,ContextTokens,GeneratedTokens     Azure LLM inference traces 2023
///   2023-11-16 18:15:46.6805900,374,44
/// or
///   {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, ...]}
///                                               Mooncake traces (FAST 2025); milliseconds
/// Errors: an unknown first line, a bad row (with its line), no requests.
tl::expected<Workload, std::string> read_workload(std::istream& in, std::size_t limit);

/// Low, normal and high priority in turn.
void mix_priorities(Workload& workload);

/// Request number `index`: byte tokens 1..256 from the generator; generation ignores the end
/// token, so that its length is that of the item.
Request make_request(const WorkloadItem& item, std::uint64_t index);

}  // namespace forge::apps
