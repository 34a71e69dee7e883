// SipHash-2-4: a keyed hash of 64 bits. Without the key, nobody can foresee a hash or find two
// messages of equal hash, which an unkeyed hash such as FNV-1a (digest.h) lets anyone do.
//
// The message is a string of bytes, given as little-endian words of 8 and a tail of up to 7, so
// that the result is the same on every machine.
//
// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2.
#pragma once

#include <bit>
#include <cstdint>

namespace forge {

/// The bytes of the paper's key, as two little-endian words.
struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

class SipHash {
 public:
  constexpr explicit SipHash(SipKey key)
      : v0_(key.k0 ^ 0x736f6d6570736575),
        v1_(key.k1 ^ 0x646f72616e646f6d),
        v2_(key.k0 ^ 0x6c7967656e657261),
        v3_(key.k1 ^ 0x7465646279746573) {}

  /// The next 8 bytes.
  constexpr void add(std::uint64_t word) {
    size_ += 8;
    compress(word);
  }

  /// The hash of all words and the last `tail_bytes` bytes, which are in the low end of `tail`.
  /// Requires: tail_bytes < 8, the rest of `tail` is 0. Ends the message.
  constexpr std::uint64_t finish(std::uint64_t tail = 0, std::uint32_t tail_bytes = 0) {
    compress(tail | (size_ + tail_bytes) << 56);
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  constexpr void compress(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }

  constexpr void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
  std::uint64_t size_ = 0;  // bytes so far
};

}  // namespace forge
