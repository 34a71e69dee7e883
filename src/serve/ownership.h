// What belongs to a key, in numbers of the engine.
//
//   session 5 of alice, session 5 of bob          two sessions
//   a prompt of alice's, the same of bob's        two prefixes: from the time that an answer takes
//                                                 neither learns what the other has asked
//   the same of alice's with a cache_salt         a third one
//
// The engine knows a session, and the salt of a prefix, by 64 bits (core/ids.h): here the first of
// SHA-256 over the owner's digest and what the client says, so nobody can aim at the numbers of
// somebody else. Without an owner a session is what the client calls it, and requests without a
// cache_salt share their prefixes.
//
// Source: cache_salt is vLLM's (pull request 17045); what can be learned without it: Song et al.,
// "The Early Bird Catches the Leak", arXiv 2409.20002.
#pragma once

#include <string_view>

#include "forge/core/ids.h"
#include "forge/serve/api_keys.h"

namespace forge::serve {

SessionId session_of(const Owner& owner, SessionId said);

/// `said` is empty for a request without a cache_salt.
CacheSalt salt_of(const Owner& owner, std::string_view said);

}  // namespace forge::serve
