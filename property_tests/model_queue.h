// ModelQueue: who is admitted next, once more, as plainly as it can be said. Written from the text
// of fair_shares.h, wait_queue.h and policy.h: maps and sets, nothing is ever put in another order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"

namespace forge::testing {

class ModelQueue {
 public:
  explicit ModelQueue(const SchedulerConfig& config) : config_(config) {}

  void submit(SeqId seq, const Request& request) {
    const Owner owner{request.client, request.user};
    if (clients_.is_forgotten(owner.first)) {
      clients_.members.erase(owner.first);
      users_.erase(owner.first);
    }
    Level<UserId>& users = users_[owner.first];
    if (users.is_forgotten(owner.second)) users.members.erase(owner.second);
    ++clients_.members[owner.first].requests;
    ++users.members[owner.second].requests;
    all_[seq] = {owner, request.priority, request.weight};
    owners_[seq] = owner;
    wait(seq);
  }

  void wait(SeqId seq) {
    const State& s = all_[seq];
    begin(clients_, s.owner.first);
    begin(users_[s.owner.first], s.owner.second);
    lines_[s.owner].insert(place(seq));
    all_[seq].since = first_admissions_.size();
  }

  /// Nothing happens if it does not wait.
  void stop_waiting(SeqId seq) {
    const State& s = all_[seq];
    if (lines_[s.owner].erase(place(seq)) == 0) return;
    --clients_.members[s.owner.first].waiting;
    --users_[s.owner.first].members[s.owner.second].waiting;
  }

  void admit(SeqId seq) {
    State& s = all_[seq];
    s.overtaken += overtaken_since(seq);
    stop_waiting(seq);
    if (std::exchange(s.admitted, true)) return;
    first_admissions_.push_back(seq);
    take_turn(clients_, s.owner.first);
    take_turn(users_[s.owner.first], s.owner.second);
  }

  /// The tokens of the sequence up to there run, or need not.
  void run(SeqId seq, std::uint32_t end) {
    State& s = all_[seq];
    if (end <= s.paid) return;
    const std::uint64_t tokens = end - std::exchange(s.paid, end);
    charge(clients_, s.owner.first, tokens * 1000 / s.weight);
    charge(users_[s.owner.first], s.owner.second, tokens * 1000);
  }
  void needs_not_run(SeqId seq, std::uint32_t cached) { all_[seq].paid = cached; }

  void retire(SeqId seq) {
    const State& s = all_[seq];
    --clients_.members[s.owner.first].requests;
    --users_[s.owner.first].members[s.owner.second].requests;
    all_.erase(seq);
  }

  bool waits(SeqId seq) const {
    const auto line = lines_.find(all_.at(seq).owner);
    return line != lines_.end() && line->second.contains(place(seq));
  }

  /// All that wait, line after line, the next one first.
  std::vector<SeqId> in_order() const {
    std::vector<const Line*> lines;
    for (const auto& [owner, line] : lines_) {
      if (!line.empty()) lines.push_back(&line);
    }
    std::ranges::sort(lines, {}, [&](const Line* line) { return turn_of(*line); });
    std::vector<SeqId> order;
    for (const Line* line : lines) {
      for (const auto& [at, seq] : *line) order.push_back(seq);
    }
    return order;
  }

  /// How many later ones of its user were first admitted while `seq` waited.
  std::uint32_t overtaken(SeqId seq) const {
    return all_.at(seq).overtaken + (waits(seq) ? overtaken_since(seq) : 0);
  }

 private:
  using Owner = std::pair<ClientId, UserId>;
  using Line = std::set<std::pair<std::uint64_t, SeqId>>;  // by place

  struct State {
    Owner owner;
    Priority priority = Priority::normal;
    std::uint32_t weight = 1;
    bool admitted = false;
    std::uint32_t paid = 0;
    std::uint32_t overtaken = 0;  // while it waited before
    std::size_t since = 0;        // first admissions before it waited
  };
  struct Member {
    std::uint64_t served = 0, turn = 0;
    int requests = 0, waiting = 0;
  };
  template <class Name>
  struct Level {
    std::map<Name, Member> members;
    std::uint64_t floor = 0;
    bool is_forgotten(Name name) const {
      const auto member = members.find(name);
      return member != members.end() && member->second.requests == 0 &&
             member->second.served <= floor;
    }
  };

  template <class Name>
  void begin(Level<Name>& level, Name name) {
    if (level.members[name].waiting++ > 0) return;
    Member& member = level.members[name];
    member.served = std::max(member.served, level.floor);
    member.turn = ++turns_;
    level.floor += 1000;
  }
  template <class Name>
  void take_turn(Level<Name>& level, Name name) {
    Member& member = level.members[name];
    level.floor = std::max(level.floor, member.served);
    member.turn = ++turns_;
  }
  template <class Name>
  static void charge(Level<Name>& level, Name name, std::uint64_t units) {
    const bool another_waits = std::ranges::any_of(level.members, [&](const auto& other) {
      return other.first != name && other.second.waiting > 0;
    });
    if (another_waits) level.members[name].served += units;
  }

  std::pair<std::uint64_t, SeqId> place(SeqId seq) const {
    const auto level = static_cast<std::uint64_t>(Priority::high) -
                       static_cast<std::uint64_t>(all_.at(seq).priority);
    return {seq.value + config_.priority_head_start * level, seq};
  }
  using Turn = std::tuple<bool, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                          std::pair<std::uint64_t, SeqId>>;
  Turn turn_of(const Line& line) const {
    const State& s = all_.at(line.begin()->second);
    if (s.admitted) return {false, 0, 0, 0, 0, *line.begin()};
    const Member& client = clients_.members.at(s.owner.first);
    const Member& user = users_.at(s.owner.first).members.at(s.owner.second);
    return {true, client.served, client.turn, user.served, user.turn, *line.begin()};
  }
  std::uint32_t overtaken_since(SeqId seq) const {
    const State& s = all_.at(seq);
    const auto since = first_admissions_.begin() + static_cast<std::ptrdiff_t>(s.since);
    return static_cast<std::uint32_t>(
        std::count_if(since, first_admissions_.end(),
                      [&](SeqId other) { return other > seq && owners_.at(other) == s.owner; }));
  }

  SchedulerConfig config_;
  Level<ClientId> clients_;
  std::map<ClientId, Level<UserId>> users_;
  std::map<SeqId, State> all_;
  std::map<Owner, Line> lines_;
  std::map<SeqId, Owner> owners_;  // of all that ever came
  std::vector<SeqId> first_admissions_;
  std::uint64_t turns_ = 0;
};

}  // namespace forge::testing
