// Digest: a 64-bit FNV-1a hash over a defined byte form, so that two runs can be
// compared by one number and a reader can recompute it in five lines of anything.
//
// Byte form, used for every digest of the project:
//   - an integer, a boolean, an enumerator or an id is 8 bytes, little endian;
//   - a float is its 32-bit pattern, taken as an integer;
//   - a list is its length, then its elements; a struct its fields as declared.
//
// FNV-1a: h starts at 14695981039346656037; for each byte: h ^= byte, then
// h *= 1099511628211 (mod 2^64). It detects differences; it does not resist an
// adversary. Source: Fowler, Noll, Vo; draft-eastlake-fnv.
#pragma once

#include <cstdint>

#include "forge/core/ids.h"

namespace forge {

class Digest {
 public:
  constexpr Digest& add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      state_ = (state_ ^ ((word >> (8 * byte)) & 0xff)) * 1099511628211u;
    }
    return *this;
  }
  template <class Tag, class Rep>
  constexpr Digest& add(Id<Tag, Rep> id) {
    return add(static_cast<std::uint64_t>(id.value));
  }

  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 14695981039346656037u;
};

}  // namespace forge
