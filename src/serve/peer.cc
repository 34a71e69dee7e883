#include "peer.h"

#include <boost/asio/ip/tcp.hpp>
#include <cstring>
#include <optional>

namespace forge::serve {
namespace {

/// Nothing, if it is no address of IP.
std::optional<asio::ip::address> ip_of(const ClientStream::Socket::endpoint_type& generic) {
  const int family = generic.protocol().family();
  asio::ip::tcp::endpoint endpoint;
  if ((family != AF_INET && family != AF_INET6) || generic.size() > endpoint.capacity()) {
    return std::nullopt;
  }
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  const asio::ip::address address = endpoint.address();
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

}  // namespace

Arrival arrival_at(const ClientStream::Socket::endpoint_type& local) {
  if (local.protocol().family() == AF_UNIX) return Arrival::unix_socket;
  const auto address = ip_of(local);
  return address && address->is_loopback() ? Arrival::loopback : Arrival::network;
}

std::string host_at(const ClientStream::Socket::endpoint_type& peer) {
  const auto address = ip_of(peer);
  if (!address) return "";
  if (address->is_v4()) {
    const auto bytes = address->to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = address->to_v6().to_bytes();
  return {bytes.begin(), bytes.begin() + bytes.size() / 2};
}

}  // namespace forge::serve
