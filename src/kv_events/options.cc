#include "forge/kv_events/options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace forge::kv_events {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";

tl::unexpected<std::string> refused(std::string_view text, const std::string& why) {
  return tl::unexpected("'" + std::string(text) + "' is no endpoint: " + why);
}

/// The number that all of `text` is, if it is at most `highest`.
std::optional<std::uint32_t> number_of(std::string_view text, std::uint32_t highest) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number > highest) return std::nullopt;
  return number;
}

/// 127.0.0.0/8: four numbers, of which the first is 127. A name may begin like that, too.
bool is_loopback_v4(std::string_view host) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? host.find('.') : host.size();
    if (dot == host.npos) return false;
    const auto number = number_of(host.substr(0, dot), 255);
    if (!number || (part == 0 && *number != 127)) return false;
    host.remove_prefix(std::min(dot + 1, host.size()));
  }
  return true;
}

/// What stands behind tcp://.
tl::expected<Endpoint, std::string> parse_tcp(std::string_view text, std::string_view place) {
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos || colon == 0) return refused(text, "tcp has HOST:PORT");
  std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  const bool is_v6 = host.front() == '[' && host.back() == ']';
  if (!is_v6 && host.find_first_of(":[]") != host.npos) {
    return refused(text, "an IPv6 address stands in brackets");
  }
  if (place.find_first_of("/;@ ") != place.npos) {
    return refused(text, "a host has no '/', ';', '@' or space");
  }
  if (host == "localhost") host = "127.0.0.1";  // ZeroMQ binds to addresses alone
  Endpoint endpoint{.address = std::string(kTcp) + std::string(host) + ":" + std::string(port)};
  endpoint.is_local = host == "[::1]" || is_loopback_v4(host);
  endpoint.binds = endpoint.is_local || host == "*" || host.find("::") != host.npos;
  const bool is_free = port == "*" || number_of(port, 0);
  if (is_free && !endpoint.binds)
    return refused(text, "whom it connects to has a port, 1 .. 65535");
  if (!is_free && !number_of(port, 65'535)) {
    return refused(text, "a port is 1 .. 65535, or * for a free one");
  }
  return endpoint;
}

/// An endpoint of `options`, which `what` names.
tl::expected<Endpoint, std::string> accepted(const std::string& text, std::string_view what,
                                             bool is_public) {
  auto endpoint = parse_endpoint(text);
  if (!endpoint || endpoint->is_local || is_public) return endpoint;
  return tl::unexpected(std::string(what) + ", '" + text +
                        "', can be reached by others, who could read the tokens of all prompts; "
                        "--kv-events-public does it all the same");
}

}  // namespace

tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text) {
  if (text.starts_with(kTcp)) return parse_tcp(text, text.substr(kTcp.size()));
  if (text.starts_with(kIpc) && text.size() > kIpc.size()) {
    return Endpoint{.address = std::string(text), .binds = true, .is_local = true};
  }
  return refused(text, "accepted is tcp://HOST:PORT or ipc://PATH");
}

tl::expected<void, std::string> validate(const KvEventOptions& options) {
  const auto events = accepted(options.endpoint, "the endpoint of events", options.is_public);
  if (!events) return tl::unexpected(events.error());
  if (!options.replay_endpoint.empty()) {
    const auto replays =
        accepted(options.replay_endpoint, "the endpoint of replays", options.is_public);
    if (!replays) return tl::unexpected(replays.error());
  }
  const auto marks = std::ranges::count(options.topic, '@');
  if (marks == 0 || marks == 2) return {};
  return tl::unexpected("the topic '" + options.topic + "' has " + std::to_string(marks) +
                        " '@'; accepted are none, or two: kv@ADDRESS@MODEL");
}

}  // namespace forge::kv_events
