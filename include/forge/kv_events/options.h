// KvEventOptions: where events go, to whom and in which form.
//
// Events have the tokens of prompts. Whoever can connect to an endpoint can read them: ZeroMQ asks
// for no key. So without `is_public` an endpoint is of this machine alone, a loopback address or
// the file of a socket, and others are refused.
//
//   tcp://127.0.0.1:5557, tcp://localhost:5557, tcp://[::1]:5557   this machine
//   ipc:///run/forge/events.sock                                   this machine, by the file's mode
//   tcp://*:5557, tcp://[::]:5557, tcp://10.0.0.7:5557, ...        others, too
//
// Who binds and who connects? Followers usually connect to a server; where an indexer is the fixed
// point, the server connects to it. As vLLM has it, an endpoint of events is bound if it has '*' or
// "::" or is ipc; Forge binds one of a loopback address, too. All others are connected to. An
// endpoint of replays is always bound. A port '*' or 0 of one that is bound is a free one of the
// system's choice. The file of a socket that a killed program has left is replaced; where somebody
// listens, or there is another file, nothing is bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/kv_events/codec.h"

namespace forge::kv_events {

struct Endpoint {
  std::string address;    ///< as ZeroMQ takes it
  bool binds = false;     ///< else it connects
  bool is_local = false;  ///< only this machine reaches it

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Errors: a sentence that names the text and what is accepted.
tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text);

struct KvEventOptions {
  std::string endpoint;
  std::string replay_endpoint;  ///< empty: nothing is replayed
  /// The first frame of each message, by which ZeroMQ filters. Routers that serve several models
  /// split it at '@': "kv@ADDRESS@MODEL".
  std::string topic;
  KvEventFormat format = KvEventFormat::map;
  bool is_public = false;  ///< others than this machine may follow

  std::size_t queue_max = 100'000;  ///< batches that wait; a further one is dropped
  std::size_t kept_max = 10'000;    ///< last batches that can be replayed
  /// Time for messages that are under way when the publisher ends.
  std::chrono::milliseconds linger{1'000};
};

/// Errors: a sentence that says which of them is not accepted, and why: an endpoint that is none or
/// that others reach (is_public), a topic whose '@' are neither none nor two.
tl::expected<void, std::string> validate(const KvEventOptions& options);

}  // namespace forge::kv_events
