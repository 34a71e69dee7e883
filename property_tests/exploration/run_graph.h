// RunGraph: which state follows which, for the question whether a run can go on for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forge::testing {

class RunGraph {
 public:
  /// States are numbered in the order of these calls. Edges belong to the state begun last.
  void begin_state(bool has_work, bool in_flight) {
    first_edge_.push_back(edges_.size());
    has_work_.push_back(has_work);
    in_flight_.push_back(in_flight);
  }
  void add_edge(std::uint32_t to) { edges_.push_back(to); }

  struct Runs {
    std::uint32_t longest = 0;         ///< most steps that lie on one path of states with work
    std::vector<std::uint32_t> cycle;  ///< states with work that follow each other, if any do
  };
  /// Depth-first search over the states with work. Requires: all states are there.
  Runs runs() const;

 private:
  std::size_t end_of(std::uint32_t state) const {
    return state + 1 < first_edge_.size() ? first_edge_[state + 1] : edges_.size();
  }
  bool is_step(std::uint32_t from, std::uint32_t to) const {
    return !in_flight_[from] && in_flight_[to];
  }

  std::vector<std::size_t> first_edge_;  // by state
  std::vector<std::uint32_t> edges_;
  std::vector<bool> has_work_;
  std::vector<bool> in_flight_;
};

}  // namespace forge::testing
