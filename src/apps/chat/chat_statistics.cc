#include "chat_statistics.h"

#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace forge::apps {
namespace {

constexpr int kNameWidth = 24;
constexpr int kColumnWidth = 12;

/// "-" where no time has passed.
std::string rate(std::uint64_t tokens, ChatStatistics::Duration time) {
  if (tokens == 0 || time.count() <= 0) return "-";
  return std::to_string(std::llround(static_cast<double>(tokens) / time.count()));
}

/// "61.5%"; "-" where nothing was drafted.
std::string acceptance(const SpeculationStatistics& speculation) {
  if (speculation.proposed == 0) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(1)
       << 100.0 * static_cast<double>(speculation.accepted) /
              static_cast<double>(speculation.proposed)
       << '%';
  return text.str();
}

std::array<std::string, 6> column(const ChatStatistics& of) {
  return {std::to_string(of.prompt_tokens),
          std::to_string(of.cached_tokens),
          std::to_string(of.answer_tokens),
          rate(of.prompt_tokens - of.cached_tokens, of.prompt_time),
          rate(of.answer_tokens - of.first_tokens, of.answer_time),
          acceptance(of.speculation)};
}

}  // namespace

ChatStatistics& ChatStatistics::operator+=(const ChatStatistics& other) {
  answers += other.answers;
  prompt_tokens += other.prompt_tokens;
  cached_tokens += other.cached_tokens;
  answer_tokens += other.answer_tokens;
  first_tokens += other.first_tokens;
  prompt_time += other.prompt_time;
  answer_time += other.answer_time;
  speculation.rounds += other.speculation.rounds;
  speculation.proposed += other.speculation.proposed;
  speculation.accepted += other.speculation.accepted;
  speculation.emitted += other.speculation.emitted;
  return *this;
}

std::string statistics_table(const ChatStatistics& last, const ChatStatistics& all) {
  constexpr std::array kNames = {"prompt tokens",   "  of them cached", "answer tokens",
                                 "prompt tokens/s", "answer tokens/s",  "drafts accepted"};
  const auto of_last = column(last);
  const auto of_all = column(all);
  std::ostringstream text;
  text << std::left << std::setw(kNameWidth) << "" << std::right << std::setw(kColumnWidth)
       << "last answer" << std::setw(kColumnWidth) << "all " + std::to_string(all.answers) << '\n';
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    text << std::left << std::setw(kNameWidth) << kNames[i] << std::right << std::setw(kColumnWidth)
         << of_last[i] << std::setw(kColumnWidth) << of_all[i] << '\n';
  }
  return text.str();
}

}  // namespace forge::apps
