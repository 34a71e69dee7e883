// Identifiers of the policy core, one type each, so that a block can never be
// passed where a sequence is meant.
//
// An id is a number and nothing more: ordered, comparable, printable through
// `.value`. None is ever reused or derived from an address, which is what lets
// two runs of the same events name things the same way.
#pragma once

#include <compare>
#include <cstdint>

namespace forge {

template <class Tag, class Rep>
struct Id {
  Rep value{};

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Id, Id) = default;
};

/// One request from submission to retirement. Handed out by the scheduler: 1, 2, 3, ...
using SeqId = Id<struct SeqTag, std::uint64_t>;

/// One physical block of the KV cache: 0 .. num_blocks - 1.
using BlockId = Id<struct BlockTag, std::uint32_t>;

/// One schedule() call: 0, 1, 2, ...
using StepId = Id<struct StepTag, std::uint64_t>;

/// One conversation of several requests. Chosen by the caller, any value.
using SessionId = Id<struct SessionTag, std::uint64_t>;

/// Whose KV a request may find in the prefix cache: that of requests with the same salt. Chosen by
/// the caller, any value; 0 is that of all who ask for none.
using CacheSalt = Id<struct CacheSaltTag, std::uint64_t>;

/// Who asks: the machine is shared between clients (fair_shares.h). Chosen by the caller, any
/// value; 0 is that of all who name none.
using ClientId = Id<struct ClientTag, std::uint64_t>;

/// One of those for whom a client asks, between whom its share is shared. Of a client's own choice.
using UserId = Id<struct UserTag, std::uint64_t>;

/// One entry of a vocabulary: 0 .. vocabulary size - 1.
using TokenId = Id<struct TokenTag, std::uint32_t>;

}  // namespace forge
