// What belongs to a key, in numbers of the engine.
//
//   session 5 of alice, session 5 of bob          two sessions
//   a prompt of alice's, the same of bob's        two prefixes: from the time that an answer takes
//                                                 neither learns what the other has asked
//   the same of alice's with a cache_salt         a third one
//   user "eve" of alice, user "eve" of bob        two users, and what bob's has is bob's share
//
// The engine knows a session, the salt of a prefix, a client and a user by 64 bits (core/ids.h):
// here the first of SHA-256 over the owner's digest and what the client says, so nobody can aim at
// the numbers of somebody else. Without an owner a session is what the client calls it, requests
// without a cache_salt share their prefixes, and a client is an address: that of a host, whatever
// its port, of IPv6 the /64 that a host has to itself (peer.h), of a Unix socket none. So that a
// trace does not tell addresses, which are few enough to try them all, a salt goes into their
// numbers that is another one each time a server starts.
//
// Source: cache_salt is vLLM's (pull request 17045); what can be learned without it: Song et al.,
// "The Early Bird Catches the Leak", arXiv 2409.20002; /64: RFC 4291, section 2.5.1.
#pragma once

#include <string_view>

#include "forge/core/ids.h"
#include "forge/serve/api_keys.h"

namespace forge::serve {

SessionId session_of(const Owner& owner, SessionId said);

/// `said` is empty for a request without a cache_salt.
CacheSalt salt_of(const Owner& owner, std::string_view said);

/// `host` and `salt` are for who has no key.
ClientId client_of(const Owner& owner, std::string_view host, std::string_view salt);

/// `said` is empty for a request that names no user.
UserId user_of(const Owner& owner, std::string_view said);

}  // namespace forge::serve
