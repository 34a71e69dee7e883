#include "explorer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "run_graph.h"

namespace forge::testing {
namespace {

class Explorer {
 public:
  explicit Explorer(const Instance& instance) : instance_(instance) {}

  Exploration run() {
    std::vector<std::pair<std::uint32_t, World>> rim;
    rim.emplace_back(0, World(instance_));
    numbers_.emplace(rim.front().second.digest(), 0);
    ways_.push_back({0, 0});
    for (; !rim.empty() && !result_.violation; ++result_.depth) {
      std::vector<std::pair<std::uint32_t, World>> next;
      for (const auto& [number, world] : rim) {
        expand(number, world, next);
        if (result_.violation) break;
      }
      rim = std::move(next);
    }
    result_.states = ways_.size();
    if (!result_.violation) check_runs();
    return result_;
  }

 private:
  /// The way to a state: the event with this number of the state before.
  struct Way {
    std::uint32_t parent = 0;
    std::uint32_t event = 0;
  };

  void expand(std::uint32_t number, const World& world,
              std::vector<std::pair<std::uint32_t, World>>& next) {
    const std::vector<Event> events = world.events();
    graph_.begin_state(world.scheduler().has_work(), world.scheduler().in_flight());
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      World after = world;
      ++result_.edges;
      if (const auto text = after.apply(events[i])) {
        result_.violation = Violation{*text, way_to(number)};
        result_.violation->events.push_back(events[i]);
        return;
      }
      const auto fresh = static_cast<std::uint32_t>(ways_.size());
      const auto [known, is_new] = numbers_.emplace(after.digest(), fresh);
      graph_.add_edge(known->second);
      if (!is_new) continue;
      ways_.push_back({number, i});
      next.emplace_back(fresh, std::move(after));
    }
  }

  std::vector<Event> way_to(std::uint32_t number) const {
    std::vector<std::uint32_t> numbers;
    for (; number != 0; number = ways_[number].parent) numbers.push_back(ways_[number].event);
    World world(instance_);
    std::vector<Event> events;
    for (std::size_t i = numbers.size(); i > 0; --i) {
      events.push_back(world.events()[numbers[i - 1]]);
      world.apply(events.back());
    }
    return events;
  }

  void check_runs() {
    const RunGraph::Runs runs = graph_.runs();
    result_.longest_run = runs.longest;
    if (runs.cycle.empty()) return;
    Violation violation{
        "livelock: " + std::to_string(runs.cycle.size()) + " events lead back to the same state",
        way_to(runs.cycle.front())};
    World world(instance_);
    for (const Event& event : violation.events) world.apply(event);
    for (std::size_t i = 1; i <= runs.cycle.size(); ++i) {
      follow(world, runs.cycle[i % runs.cycle.size()], violation.events);
    }
    result_.violation = std::move(violation);
  }

  /// Finds the event that leads from `world` to the state `number`, and applies it.
  void follow(World& world, std::uint32_t number, std::vector<Event>& events) const {
    for (const Event& event : world.events()) {
      World after = world;
      after.apply(event);
      if (numbers_.at(after.digest()) != number) continue;
      events.push_back(event);
      world = std::move(after);
      return;
    }
  }

  const Instance& instance_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of states, by digest
  std::vector<Way> ways_;
  RunGraph graph_;
  Exploration result_;
};

}  // namespace

Exploration explore(const Instance& instance) { return Explorer(instance).run(); }

std::optional<Violation> replay(const Instance& instance, const std::vector<Event>& events) {
  World world(instance);
  std::vector<std::uint64_t> seen;  // states with work, without what a witness counts
  Violation violation;
  for (const Event& event : events) {
    if (!world.can(event)) continue;
    violation.events.push_back(event);
    if (const auto text = world.apply(event)) {
      violation.text = *text;
      return violation;
    }
    const std::uint64_t digest = world.digest();
    if (world.scheduler().has_work() && std::ranges::find(seen, digest) != seen.end()) {
      violation.text = "livelock: a state comes back";
      return violation;
    }
    seen.push_back(digest);
  }
  return std::nullopt;
}

}  // namespace forge::testing
