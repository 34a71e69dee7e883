// FairShares: what each client, and each user of a client, has had of the machine.
//
//                  machine
//                 /       \              Each node counts the tokens that ran for it while another
//         client A         client B      of its level waited, divided by its weight. Of those that
//         /      \             |         wait, the one with the least has the next turn: first
//      user 1   user 2      user 1       among the clients, then among the users of that client.
//
// A client that keeps 400 requests waiting and one that sends one at a time have the same share,
// and a name that is made up gains nothing outside its client. Tokens that run while nobody else
// waits are taken from nobody and do not count. Nor does a token count again that is computed again
// after a preemption, or at all if the prefix cache saved it.
//
// Who begins to wait does not bring along what it left unused: it starts at the floor of its level
// or above. The floor
//   - is at least what the one had had that took a turn, of all turns so far;
//   - rises by one token whenever one begins to wait.
// So it waits for about one turn of each other, however long their lines are; and names without
// end, each of them new, cannot keep another waiting for ever, because each starts a token later.
//
// While two clients both wait, what they are served, by weight, differs by at most what each of
// them has begun at a time, and a token for each that began to wait since the first of them did: a
// turn is that of the client that has had the least, and after it a counter grows only by what has
// begun (property_tests/share_witness.h counts it from the plans).
//
// Sources: counters of tokens served are from Sheng et al., "Fairness in Serving Large Language
// Models", OSDI 2024 (VTC), which takes the number of clients for finite; the floor is the virtual
// time of Goyal, Vin, Cheng, "Start-time Fair Queueing", SIGCOMM 1996, which shows that levels
// compose. The arithmetic is in policy.h.
//
// Who has no requests and is not above the floor is forgotten, a client with all its users: it
// would start at the floor in any case. So there are no more nodes than have requests or have been
// served lately. A value. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "forge/core/digest.h"
#include "forge/core/ids.h"
#include "forge/core/policy.h"
#include "forge/core/scheduler_snapshot.h"

namespace forge {

class FairShares {
 public:
  /// Names a user of a client, from its first enter() to its last leave().
  using Index = std::uint32_t;

  FairShares();

  /// A request of the user is there, until leave(). O(nodes).
  Index enter(ClientId client, UserId user);
  void leave(Index user);

  /// A request of the user waits, until end_waiting(). O(1)
  void begin_waiting(Index user);
  void end_waiting(Index user);

  /// A request of the user has been admitted for the first time. O(1)
  void take_turn(Index user);

  /// `tokens` run for the user, whose client has this weight. O(1)
  void charge(Index user, std::uint32_t tokens, std::uint32_t weight);

  ClientId client_of(Index user) const { return ClientId{nodes_[nodes_[user].parent].id}; }
  UserId id_of(Index user) const { return UserId{nodes_[user].id}; }
  const Share& share_of_user(Index user) const { return nodes_[user].share; }
  const Share& share_of_client(Index user) const { return nodes_[nodes_[user].parent].share; }

  /// Adds all that future turns depend on.
  void add_to(Digest& digest) const;

  /// What is counted, but for the requests that are there and wait. O(nodes log nodes)
  SharesSnapshot snapshot() const;
  /// Counts on from a snapshot. Requires: nothing was charged yet; its requests have entered, and
  /// those that wait wait. O(nodes of the snapshot * nodes)
  void restore(const SharesSnapshot& snapshot);

 private:
  static constexpr Index kMachine = 0;
  static constexpr Index kNone = 0xffffffff;

  struct Node {
    Index parent = kNone;  // kNone: the node is free, or the machine
    std::uint64_t id = 0;
    Share share;
    std::uint32_t requests = 0;
    std::uint32_t waiting = 0;  // requests
    // As a parent:
    std::uint32_t waiting_children = 0;  // those with requests that wait
    std::uint64_t floor = 0;
  };

  Index find(Index parent, std::uint64_t id) const;
  Index child(Index parent, std::uint64_t id);
  bool is_idle(const Node& node) const;
  bool is_kept(const Node& node) const;
  void drop(Index index);
  void drop_idle();
  Index restore(Index parent, std::uint64_t id, const Share& share);
  void begin_waiting_at(Index index);
  void charge_at(Index index, std::uint64_t served);

  std::vector<Node> nodes_;  // the first is the machine
  std::vector<Index> free_;
  std::uint64_t turns_ = 0;
};

}  // namespace forge
