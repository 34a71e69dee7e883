// ShareWitness: counts, from requests and plans alone, what clients are served while others wait,
// and holds it to the promise of fair_shares.h: while two clients both wait, what they are served,
// by weight, differs by at most
//
//   what each of them had begun at a time (the most so far)      counters grow by what has begun
//   + one token for each that began to wait since the one that   the floor rose by as much
//     has waited for longer did
//
// The same of the users of each client. What a token counts by weight is served_by (policy.h); of
// counters and floors it knows nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forge/core/digest.h"
#include "forge/core/policy.h"
#include "forge/core/request.h"
#include "forge/core/step_plan.h"

namespace forge::testing {

class ShareWitness {
 public:
  void submit(SeqId seq, const Request& request) {
    all_[seq] = {.client = request.client, .user = request.user, .weight = request.weight};
    all_[seq].tokens = static_cast<std::uint32_t>(request.prompt.size()) + request.max_new_tokens;
    begin_waiting(all_[seq]);
  }

  /// Nothing happens if it has ended.
  void cancel(SeqId seq) {
    const auto found = all_.find(seq);
    if (found == all_.end()) return;
    found->second.ends = true;
    stop_waiting(found->second);
  }

  /// All KV was lost: the batch waits again, in its order.
  void lose_kv() {
    for (const SeqId seq : batch_) {
      if (!all_.at(seq).ends) begin_waiting(all_.at(seq));
    }
    batch_.clear();
  }

  /// Returns: what is not as promised, if anything is not.
  std::optional<std::string> follow(const StepPlan& plan) {
    for (const Finish& finish : plan.finished) {
      Sequence& s = all_.at(finish.seq);
      stop_waiting(s);
      if (s.has_begun) count_begun(s, -1);
      std::erase(batch_, finish.seq);
      all_.erase(finish.seq);
    }
    for (const Preemption& preemption : plan.preempted) {
      std::erase(batch_, preemption.seq);
      begin_waiting(all_.at(preemption.seq));
    }
    for (const Admission& admission : plan.admitted) {
      all_.at(admission.seq).paid = admission.cached_tokens;
    }
    for (const Slice& slice : plan.slices) {
      Sequence& s = all_.at(slice.seq);
      if (s.waits) {
        admit(s);
        batch_.push_back(slice.seq);
      }
      const std::uint32_t end = std::max(s.paid, slice.first + slice.count - slice.drafts);
      const std::uint32_t tokens = end - std::exchange(s.paid, end);
      const std::int64_t by_weight = count(tokens, s.weight);
      if (auto violation = clients_.serve(s.client.value, by_weight)) return violation;
      if (auto violation = users_[s.client].serve(s.user.value, count(tokens, 1))) return violation;
    }
    return std::nullopt;
  }

  /// Adds all that its later answers depend on.
  void add_to(Digest& digest) const {
    digest.add(all_.size());
    for (const auto& [seq, s] : all_) digest.add(seq).add(s.paid).add(s.waits).add(s.has_begun);
    clients_.add_to(digest);
    for (const auto& [client, level] : users_) level.add_to(digest);
  }

 private:
  struct Sequence {
    ClientId client;
    UserId user;
    std::uint32_t weight = 1;
    std::uint32_t tokens = 0;  // prompt and all that it may generate
    std::uint32_t paid = 0;
    bool waits = false;
    bool has_begun = false;
    bool ends = false;
  };

  static std::int64_t count(std::uint32_t tokens, std::uint32_t weight) {
    return static_cast<std::int64_t>(served_by(tokens, weight));
  }

  /// Counts are those of count().
  class Level {
   public:
    void begin_waiting(std::uint64_t name) {
      Member& member = members_[name];
      if (member.waiting++ > 0) return;
      ++begins_;
      for (const auto& [other, its] : members_) {
        if (other == name || its.waiting == 0) continue;
        both_wait_[key(name, other)] = {.began = static_cast<std::int64_t>(begins_ - its.since)};
      }
      member.since = begins_;
    }
    void stop_waiting(std::uint64_t name) {
      if (--members_[name].waiting > 0) return;
      std::erase_if(both_wait_, [&](const auto& both) {
        return both.first.first == name || both.first.second == name;
      });
    }
    void count_begun(std::uint64_t name, std::int64_t served) {
      Member& member = members_[name];
      member.begun += served;
      member.most_begun = std::max(member.most_begun, member.begun);
    }
    std::optional<std::string> serve(std::uint64_t name, std::int64_t served) {
      for (auto& [names, both] : both_wait_) {
        if (names.first != name && names.second != name) continue;
        both.ahead += names.first == name ? served : -served;
        const std::int64_t most = members_[names.first].most_begun +
                                  members_[names.second].most_begun + both.began * count(1, 1);
        if (std::abs(both.ahead) <= most) continue;
        return "shares: while both wait, " + std::to_string(names.first) + " is " +
               std::to_string(both.ahead) + " thousandths of a token ahead of " +
               std::to_string(names.second) + ", at most " + std::to_string(most) + " allowed";
      }
      return std::nullopt;
    }

    void add_to(Digest& digest) const {
      for (const auto& [name, member] : members_) {
        digest.add(begins_ - member.since);
        digest.add(static_cast<std::uint64_t>(member.begun));
        digest.add(static_cast<std::uint64_t>(member.most_begun));
      }
      digest.add(both_wait_.size());
      for (const auto& [names, both] : both_wait_) {
        digest.add(names.first).add(names.second).add(static_cast<std::uint64_t>(both.began));
        digest.add(static_cast<std::uint64_t>(both.ahead));
      }
    }

   private:
    using Names = std::pair<std::uint64_t, std::uint64_t>;
    struct Member {
      std::uint32_t waiting = 0;
      std::uint64_t since = 0;  // begins when it began to wait
      std::int64_t begun = 0;   // of requests that are, or were, in the batch
      std::int64_t most_begun = 0;
    };
    struct BothWait {
      std::int64_t ahead = 0;  // of the second
      std::int64_t began = 0;
    };
    static Names key(std::uint64_t a, std::uint64_t b) { return {std::min(a, b), std::max(a, b)}; }

    std::map<std::uint64_t, Member> members_;
    std::map<Names, BothWait> both_wait_;
    std::uint64_t begins_ = 0;
  };

  void begin_waiting(Sequence& s) {
    s.waits = true;
    clients_.begin_waiting(s.client.value);
    users_[s.client].begin_waiting(s.user.value);
  }
  void stop_waiting(Sequence& s) {
    if (!std::exchange(s.waits, false)) return;
    clients_.stop_waiting(s.client.value);
    users_[s.client].stop_waiting(s.user.value);
  }
  void admit(Sequence& s) {
    stop_waiting(s);
    if (std::exchange(s.has_begun, true)) return;
    count_begun(s, 1);
  }
  void count_begun(const Sequence& s, int sign) {
    clients_.count_begun(s.client.value, sign * count(s.tokens, s.weight));
    users_[s.client].count_begun(s.user.value, sign * count(s.tokens, 1));
  }

  std::map<SeqId, Sequence> all_;
  std::vector<SeqId> batch_;
  Level clients_;
  std::map<ClientId, Level> users_;
};

}  // namespace forge::testing
