#include "forge/text/stop_filter.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::text {
namespace {

std::vector<std::size_t> borders_of(std::string_view stop) {
  std::vector<std::size_t> border(stop.size() + 1, 0);
  std::size_t length = 0;
  for (std::size_t n = 2; n <= stop.size(); ++n) {
    while (length > 0 && stop[length] != stop[n - 1]) length = border[length];
    if (stop[length] == stop[n - 1]) ++length;
    border[n] = length;
  }
  return border;
}

}  // namespace

StopFilter::StopFilter(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    FORGE_CHECK(!stop.empty(), "a stop string is empty");
    automata_.push_back({stop, borders_of(stop)});
  }
}

// Requires: matched < stop.size(), which holds because a complete match ends the text.
void StopFilter::Automaton::advance(char next) {
  while (matched > 0 && stop[matched] != next) matched = border[matched];
  if (stop[matched] == next) ++matched;
}

void StopFilter::push(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (stopped_) return;
    held_.push_back(c);
    std::size_t longest_start = 0;
    std::size_t longest_stop = 0;
    for (Automaton& automaton : automata_) {
      automaton.advance(c);
      longest_start = std::max(longest_start, automaton.matched);
      if (automaton.matched == automaton.stop.size()) {
        longest_stop = std::max(longest_stop, automaton.matched);
      }
    }
    stopped_ = longest_stop > 0;
    const std::size_t kept = stopped_ ? longest_stop : longest_start;
    out.append(held_, 0, held_.size() - kept);
    held_.erase(0, held_.size() - kept);
  }
}

void StopFilter::finish(std::string& out) {
  if (!stopped_) out += held_;
  held_.clear();
  for (Automaton& automaton : automata_) automaton.matched = 0;
}

}  // namespace forge::text
