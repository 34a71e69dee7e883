#include "replay_request.h"

namespace forge::kv_events {

std::string sequence_bytes(std::uint64_t sequence) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(sequence >> 8 * (7 - i));
  return bytes;
}

std::optional<std::uint64_t> parse_replay_request(std::span<const std::string_view> frames) {
  if (frames.size() != 3 || !frames[1].empty() || frames[2].size() != 8) return std::nullopt;
  std::uint64_t first = 0;
  for (const char byte : frames[2]) first = first << 8 | static_cast<std::uint8_t>(byte);
  return first;
}

}  // namespace forge::kv_events
