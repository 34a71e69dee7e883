// The steps of the pipeline that rule tokens out: top-k, top-p and min-p, for host and device.
// pipeline.h says where they stand among the others.
//
// A token's place among the others is its depth: how far its logit, divided by the temperature, is
// below the largest, as an integer that has the order of these floats. All three steps keep the
// tokens above some depth, so nobody has to sort:
//
//   scaled   s = (logit - max) / temperature                        at most 0
//   depth    the bits of -s                                         0 for the most likely token
//   weight   exp(s), cut to a multiple of 2^-40 (its "mass" counts these units)
//
//   top-k    keeps depths up to the smallest one that at least k tokens do not exceed
//   top-p    keeps depths up to the smallest one whose tokens have at least p of the mass that
//            top-k left
//   min-p    keeps the tokens with exp(s) >= p: at least p times as likely as the best
//
// Tokens of equal depth all stay or all go. Masses are sums of integers, which are exact: they have
// no order, and any number of threads can form them. V tokens have at most V 2^40 units, so V may
// be 2^24; what the cut takes away is less than V 2^-40 of the whole.
//
//   depth    0    2    5    6    9   13      top_k 4 keeps depths up to 6, .95 of the mass;
//   mass    .6   .2   .1  .05  .03  .02      top_p 0.85 of these needs .81: depths up to 5;
//            a    b    c    d    e    f      min_p 0.2 needs .12: a and b stay
//
// Source: Fan, Lewis, Dauphin, "Hierarchical Neural Story Generation", ACL 2018 (top-k); Holtzman
// et al., "The Curious Case of Neural Text Degeneration", ICLR 2020 (top-p); Nguyen et al.,
// "Turning Up the Heat: Min-p Sampling", ICLR 2025.
//
// Pure, thread-safe. Numerics are canonical.
#pragma once

#include <cstdint>

#include "forge/numerics/canonical.h"

namespace forge::sampling {

/// The depth of a token that is ruled out: its logit is -inf.
inline constexpr std::uint32_t kDepthNever = 0x7f800000u;
/// The largest of a token that is not.
inline constexpr std::uint32_t kDepthMax = kDepthNever - 1;

/// What is kept of a row.
struct Filter {
  float temperature = 1.0F;  ///< above 0
  std::uint32_t top_k = 0;   ///< 0: all
  float top_p = 1.0F;        ///< 1: all
  float min_p = 0.0F;        ///< 0: all

  FORGE_HOST_DEVICE bool any() const {
    return temperature > 0.0F && (top_k > 0 || top_p < 1.0F || min_p > 0.0F);
  }
};

/// The depth of a logit; `max` is the largest of its row.
FORGE_HOST_DEVICE inline std::uint32_t depth_of(float logit, float max, float temperature) {
  return numerics::bits_of(0.0F - numerics::divide(logit - max, temperature));
}

/// exp(s) of the tokens at a depth.
FORGE_HOST_DEVICE inline float weight_at(std::uint32_t depth) {
  return numerics::exp(-numerics::float_of(depth));
}

/// A weight in units of 2^-40.
FORGE_HOST_DEVICE inline std::uint64_t mass_of(float weight) {
  return static_cast<std::uint64_t>(weight * 0x1p40F);
}
FORGE_HOST_DEVICE inline std::uint64_t mass_at(std::uint32_t depth) {
  return mass_of(weight_at(depth));
}

/// The mass that top-p asks for, where top-k has left `total`.
FORGE_HOST_DEVICE inline std::uint64_t mass_wanted(float top_p, std::uint64_t total) {
  return static_cast<std::uint64_t>(top_p * static_cast<float>(total));
}

/// No token at a larger depth is kept by min-p, so that few weights need to be looked at. The
/// margin is far above what rounding does to the logarithm and to a weight.
FORGE_HOST_DEVICE inline std::uint32_t depth_never_likely(float min_p) {
  return min_p > 0.0F ? numerics::bits_of(0.01F - numerics::log(min_p)) : kDepthMax;
}

/// Whether min-p keeps the tokens at a depth.
FORGE_HOST_DEVICE inline bool is_likely(std::uint32_t depth, float min_p) {
  return min_p <= 0.0F || weight_at(depth) >= min_p;
}

}  // namespace forge::sampling
