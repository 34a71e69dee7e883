#include "run_graph.h"

#include <algorithm>

namespace forge::testing {
namespace {

enum class Mark : std::uint8_t { fresh, on_path, done };

struct Visit {
  std::uint32_t state = 0;
  std::size_t next_edge = 0;
};

}  // namespace

RunGraph::Runs RunGraph::runs() const {
  const auto states = static_cast<std::uint32_t>(first_edge_.size());
  std::vector<Mark> marks(states, Mark::fresh);
  std::vector<std::uint32_t> longest(states, 0);
  std::vector<Visit> path;
  Runs runs;
  for (std::uint32_t start = 0; start < states; ++start) {
    if (!has_work_[start] || marks[start] != Mark::fresh) continue;
    path.push_back({start, first_edge_[start]});
    marks[start] = Mark::on_path;
    while (!path.empty()) {
      const std::uint32_t state = path.back().state;
      if (path.back().next_edge == end_of(state)) {
        marks[state] = Mark::done;
        runs.longest = std::max(runs.longest, longest[state]);
        path.pop_back();
        if (path.empty()) continue;
        const std::uint32_t before = path.back().state;
        longest[before] = std::max(longest[before], longest[state] + is_step(before, state));
        continue;
      }
      const std::uint32_t next = edges_[path.back().next_edge++];
      if (!has_work_[next]) continue;
      if (marks[next] == Mark::done) {
        longest[state] = std::max(longest[state], longest[next] + is_step(state, next));
      } else if (marks[next] == Mark::fresh) {
        marks[next] = Mark::on_path;
        path.push_back({next, first_edge_[next]});
      } else {
        const auto first = std::ranges::find(path, next, &Visit::state);
        for (auto visit = first; visit != path.end(); ++visit) runs.cycle.push_back(visit->state);
        return runs;
      }
    }
  }
  return runs;
}

}  // namespace forge::testing
