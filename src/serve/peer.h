// What the two addresses of a connection say: whether it came from this machine, and from which
// host.
//
// Thread contract: pure functions.
#pragma once

#include <string>

#include "access.h"
#include "client_stream.h"

namespace forge::serve {

/// How a connection came that arrived at this address: what comes from this machine arrives at one
/// that only it can reach.
Arrival arrival_at(const ClientStream::Socket::endpoint_type& local);

/// What the bytes of an address say of the host that asks: of IPv4 all four; of IPv6 the first
/// eight, the /64; nothing of a Unix socket. An address of IPv4 that is mapped into IPv6 is one of
/// IPv4.
std::string host_at(const ClientStream::Socket::endpoint_type& peer);

}  // namespace forge::serve
