// prefix_hash: the name of a block by all its tokens and those before it, in 64 bits.
//
//   hash(block) = SipHash-2-4(key, hash(block before it) || tokens of the block)
//
// The first block of a prefix comes after its salt. So blocks of the same prefix and salt have the
// same hash, whichever place of the cache they are in and however often it is used anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "forge/core/ids.h"
#include "forge/core/siphash.h"

namespace forge {

/// `before`: the hash of the block before this one, or at the start of a prefix the salt's value.
inline std::uint64_t prefix_hash(SipKey key, std::uint64_t before,
                                 std::span<const TokenId> tokens) {
  SipHash sip(key);
  sip.add(before);
  std::size_t i = 0;
  for (; i + 1 < tokens.size(); i += 2) {
    sip.add(tokens[i].value | std::uint64_t{tokens[i + 1].value} << 32);
  }
  return i < tokens.size() ? sip.finish(tokens[i].value, 4) : sip.finish();
}

}  // namespace forge
