#include "forge/core/fair_shares.h"

#include <algorithm>
#include <utility>

namespace forge {

FairShares::FairShares() : nodes_(1) {}

FairShares::Index FairShares::enter(ClientId client, UserId user) {
  const Index its_client = child(kMachine, client.value);
  ++nodes_[its_client].requests;
  const Index its_user = child(its_client, user.value);
  ++nodes_[its_user].requests;
  return its_user;
}

/// kNone if it is not there.
FairShares::Index FairShares::find(Index parent, std::uint64_t id) const {
  const auto found = std::ranges::find_if(
      nodes_, [&](const Node& node) { return node.parent == parent && node.id == id; });
  return found == nodes_.end() ? kNone : static_cast<Index>(found - nodes_.begin());
}

FairShares::Index FairShares::child(Index parent, std::uint64_t id) {
  if (const Index found = find(parent, id); found != kNone) {
    if (!is_idle(nodes_[found])) return found;
    drop(found);
  }
  if (free_.empty()) drop_idle();
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(nodes_.size()));
    nodes_.emplace_back();
    free_.reserve(nodes_.capacity());
  }
  const Index index = free_.back();
  free_.pop_back();
  nodes_[index] = {.parent = parent, .id = id};
  return index;
}

void FairShares::leave(Index user) {
  const Index client = nodes_[user].parent;
  --nodes_[user].requests;
  --nodes_[client].requests;
  if (is_idle(nodes_[client])) {
    drop(client);
  } else if (is_idle(nodes_[user])) {
    drop(user);
  }
}

/// It says nothing any more, nor do its children.
bool FairShares::is_idle(const Node& node) const {
  return node.parent != kNone && node.requests == 0 &&
         node.share.served <= nodes_[node.parent].floor;
}

/// With its children, if it is a client.
void FairShares::drop(Index index) {
  for (Index user = 0; user < nodes_.size(); ++user) {
    if (user != index && nodes_[user].parent != index) continue;
    nodes_[user].parent = kNone;
    free_.push_back(user);
  }
}

void FairShares::drop_idle() {
  for (const bool are_clients : {true, false}) {
    for (Index index = 1; index < nodes_.size(); ++index) {
      const bool is_client = nodes_[index].parent == kMachine;
      if (is_client == are_clients && is_idle(nodes_[index])) drop(index);
    }
  }
}

void FairShares::begin_waiting(Index user) {
  begin_waiting_at(nodes_[user].parent);
  begin_waiting_at(user);
}

void FairShares::begin_waiting_at(Index index) {
  Node& node = nodes_[index];
  if (node.waiting++ > 0) return;
  Node& parent = nodes_[node.parent];
  ++parent.waiting_children;
  node.share = {std::max(node.share.served, parent.floor), ++turns_};
  parent.floor += served_by(1, 1);
}

void FairShares::end_waiting(Index user) {
  for (const Index index : {user, nodes_[user].parent}) {
    if (--nodes_[index].waiting == 0) --nodes_[nodes_[index].parent].waiting_children;
  }
}

void FairShares::take_turn(Index user) {
  for (const Index index : {user, nodes_[user].parent}) {
    Node& node = nodes_[index];
    Node& parent = nodes_[node.parent];
    parent.floor = std::max(parent.floor, node.share.served);
    node.share.turn = ++turns_;
  }
}

void FairShares::charge(Index user, std::uint32_t tokens, std::uint32_t weight) {
  charge_at(user, served_by(tokens, 1));
  charge_at(nodes_[user].parent, served_by(tokens, weight));
}

/// Counts only while another one of the level waits.
void FairShares::charge_at(Index index, std::uint64_t served) {
  Node& node = nodes_[index];
  const std::uint32_t itself = node.waiting > 0 ? 1 : 0;
  if (nodes_[node.parent].waiting_children > itself) node.share.served += served;
}

/// Does it, with the client above it, say anything?
bool FairShares::is_kept(const Node& node) const {
  return node.parent != kNone && !is_idle(node) && !is_idle(nodes_[node.parent]);
}

void FairShares::add_to(Digest& digest) const {
  std::vector<const Node*> nodes;
  for (const Node& node : nodes_) {
    if (is_kept(node)) nodes.push_back(&node);
  }
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->share.turn; });
  digest.add(nodes.size());
  for (const Node* node : nodes) {
    const Node& parent = nodes_[node->parent];
    digest.add(node->id).add(parent.parent == kNone ? 0 : 1 + parent.id);
    digest.add(node->share.served - parent.floor);
  }
}

SharesSnapshot FairShares::snapshot() const {
  SharesSnapshot snapshot{.turns = turns_, .floor = nodes_[kMachine].floor, .clients = {}};
  for (Index client = 1; client < nodes_.size(); ++client) {
    const Node& node = nodes_[client];
    if (node.parent != kMachine || !is_kept(node)) continue;
    ClientSnapshot told{ClientId{node.id}, node.share.served, node.share.turn, node.floor, {}};
    for (const Node& user : nodes_) {
      if (user.parent != client || !is_kept(user)) continue;
      told.users.push_back({UserId{user.id}, user.share.served, user.share.turn});
    }
    std::ranges::sort(told.users, {}, &UserSnapshot::user);
    snapshot.clients.push_back(std::move(told));
  }
  std::ranges::sort(snapshot.clients, {}, &ClientSnapshot::client);
  return snapshot;
}

void FairShares::restore(const SharesSnapshot& snapshot) {
  turns_ = snapshot.turns;
  nodes_[kMachine].floor = snapshot.floor;
  for (const ClientSnapshot& told : snapshot.clients) {
    const Index client = restore(kMachine, told.client.value, {told.served, told.turn});
    if (client == kNone) continue;
    nodes_[client].floor = told.floor;
    for (const UserSnapshot& of : told.users) {
      restore(client, of.user.value, {of.served, of.turn});
    }
  }
}

/// Who has no request and is not above the floor says nothing, and stays forgotten.
FairShares::Index FairShares::restore(Index parent, std::uint64_t id, const Share& share) {
  Index index = find(parent, id);
  if (index == kNone && share.served > nodes_[parent].floor) index = child(parent, id);
  if (index != kNone) nodes_[index].share = share;
  return index;
}

}  // namespace forge
