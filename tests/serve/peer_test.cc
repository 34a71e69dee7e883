// What addresses say of who asks.
#include "peer.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>

namespace forge::serve {
namespace {

using Endpoint = ClientStream::Socket::endpoint_type;

Endpoint endpoint(const char* address, std::uint16_t port = 4711) {
  return asio::ip::tcp::endpoint(asio::ip::make_address(address), port);
}
Endpoint unix_endpoint() { return asio::local::stream_protocol::endpoint("/run/forge.sock"); }

TEST(Peer, is_a_host_whatever_its_port) {
  EXPECT_EQ(host_at(endpoint("10.1.2.3", 1)), host_at(endpoint("10.1.2.3", 2)));
  EXPECT_EQ(host_at(endpoint("10.1.2.3")), "\x0a\x01\x02\x03");
  EXPECT_NE(host_at(endpoint("10.1.2.3")), host_at(endpoint("10.1.2.4")));
  EXPECT_EQ(host_at(endpoint("10.1.2.3")), host_at(endpoint("::ffff:10.1.2.3")));
}

TEST(Peer, of_ipv6_is_its_64) {
  EXPECT_EQ(host_at(endpoint("2001:db8:1:2::1")), host_at(endpoint("2001:db8:1:2:ffff::9")));
  EXPECT_NE(host_at(endpoint("2001:db8:1:2::1")), host_at(endpoint("2001:db8:1:3::1")));
}

TEST(Peer, of_a_unix_socket_and_of_one_that_has_gone_is_nobody_in_particular) {
  EXPECT_EQ(host_at(unix_endpoint()), "");
  EXPECT_EQ(host_at(Endpoint()), "");
}

TEST(Peer, comes_from_this_machine_where_only_that_can) {
  EXPECT_EQ(arrival_at(endpoint("127.0.0.1")), Arrival::loopback);
  EXPECT_EQ(arrival_at(endpoint("::1")), Arrival::loopback);
  EXPECT_EQ(arrival_at(endpoint("::ffff:127.0.0.1")), Arrival::loopback);
  EXPECT_EQ(arrival_at(endpoint("10.1.2.3")), Arrival::network);
  EXPECT_EQ(arrival_at(unix_endpoint()), Arrival::unix_socket);
  EXPECT_EQ(arrival_at(Endpoint()), Arrival::network);
}

}  // namespace
}  // namespace forge::serve
