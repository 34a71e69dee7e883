// What a follower that has missed batches asks for: those from a sequence number on.
//
//   frames   identity   ""   first (8 bytes, big-endian)
//
// The identity is ZeroMQ's own name of who asks (a ROUTER socket), the empty frame what a REQ
// socket sends by itself. Anybody who can connect may send anything here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forge::kv_events {

/// 8 bytes, big-endian.
std::string sequence_bytes(std::uint64_t sequence);

/// The first sequence number that is asked for; nothing if `frames` are no such request.
std::optional<std::uint64_t> parse_replay_request(std::span<const std::string_view> frames);

}  // namespace forge::kv_events
