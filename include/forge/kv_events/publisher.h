// KvEventPublisher: sends batches of events to whoever follows, over ZeroMQ.
//
//   loop thread --publish()--> queue --> own thread --PUB--> followers: topic, sequence, bytes
//                                            |
//                                the last batches are kept
//                                            |
//                                         ROUTER <--first missing-- a follower with a gap, who
//                                                                   gets them: sequence, bytes
//
// Followers get what is published after they have subscribed. Sequence numbers (8 bytes,
// big-endian) count batches from 0, so a follower sees what it has missed, and asks for it at the
// endpoint of replays: frames "", first. It gets "", sequence, bytes for each batch from there on
// that is kept, and then "", 8 bytes of 0xff, "". That what it asked for is no longer kept is no
// error: it sees so.
//
// Nobody waits for a follower. publish() puts the batch into a queue; where that is full, or where
// a follower does not take what ZeroMQ keeps for it (100,000 messages), a batch is lost to it and
// its sequence number is not. The same holds for answers to replays. What is no request is counted
// and not answered.
//
// ZeroMQ checks neither who connects nor, before the last frame of a message has come, how many
// there are: an endpoint that others reach is for a network that is trusted (options.h).
//
// Owns its sockets and its thread. Thread contract: one thread publishes; the rest from any.
//
// Invariants
//   1. Sequence numbers of messages grow; batches have them in the order of publish().
//   2. There is a limit to the batches that are queued, kept, and wait for each follower.
//
// Source: the publisher of vLLM, in its module distributed/kv_events; ZeroMQ, RFC 23 (ZMTP) and 29
// (publish-subscribe).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/kv_events/kv_event.h"
#include "forge/kv_events/options.h"

namespace forge::kv_events {

struct KvEventCounts {
  std::uint64_t published = 0;     ///< batches that were sent
  std::uint64_t dropped = 0;       ///< batches for which the queue had no room
  std::uint64_t replays = 0;       ///< requests, counted before they are answered
  std::uint64_t bad_requests = 0;  ///< that were none
};

class KvEventPublisher {
 public:
  using Opened = tl::expected<std::unique_ptr<KvEventPublisher>, std::string>;

  /// Binds or connects, and starts the thread. Errors: a sentence: those of validate(), or the
  /// endpoint and why it cannot be bound.
  static Opened open(const KvEventOptions& options);
  /// Sends what is queued, for as long as options.linger, and joins the thread.
  ~KvEventPublisher();
  KvEventPublisher(const KvEventPublisher&) = delete;
  KvEventPublisher& operator=(const KvEventPublisher&) = delete;

  /// Never waits. Returns: false if there was no room and the batch is dropped.
  bool publish(KvEventBatch batch);

  KvEventCounts counts() const;
  /// Where it listens, with the port that the system has picked, or what it connects to.
  const std::string& endpoint() const;
  const std::string& replay_endpoint() const;  ///< empty without replays

 private:
  struct Sender;
  explicit KvEventPublisher(std::unique_ptr<Sender> sender);

  std::unique_ptr<Sender> sender_;
};

}  // namespace forge::kv_events
