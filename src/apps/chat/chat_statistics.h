// ChatStatistics: what answers were made of and how long they took, of one answer or the sum of
// several.
//
// Thread contract: a value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "forge/core/acceptance.h"

namespace forge::apps {

struct ChatStatistics {
  using Duration = std::chrono::duration<double>;

  std::uint64_t answers = 0;
  std::uint64_t prompt_tokens = 0;  ///< of the conversation as the template spells it
  std::uint64_t cached_tokens = 0;  ///< those of them that were not run: their KV was there
  std::uint64_t answer_tokens = 0;
  std::uint64_t first_tokens = 0;  ///< those of answer_tokens that the prompt's last step yielded
  Duration prompt_time{};          ///< until then
  Duration answer_time{};          ///< from then on
  SpeculationStatistics speculation;

  ChatStatistics& operator+=(const ChatStatistics& other);
};

/// A table with a column for the last answer and one for all.
std::string statistics_table(const ChatStatistics& last, const ChatStatistics& all);

}  // namespace forge::apps
