// The angles of RoPE, whatever scaling a checkpoint has.
//
// Pair i of a head turns by position * frequency[i]. Scaling stretches a model's context beyond the
// positions that it was trained on, by slowing the pairs down:
//
//   none     base^(-2i/size)                                    Su et al., arXiv:2104.09864
//   linear   all divided by the factor                          arXiv:2306.15595
//   llama3   by wavelength: short ones kept, long ones divided by the factor, a ramp between
//   yarn     by pair: a ramp between the pairs that turn beta_fast and beta_slow times in the
//            positions of the training                          arXiv:2309.00071, section 3.2
//   tabled   divided by what the checkpoint says
//   longrope divided by one of two tables of the checkpoint; cosines and sines multiplied by a
//            factor                                             arXiv:2402.13753
//   dynamic  none: the base grows beyond the configured context alone (model_config.h)
//
// The bits are the same on every machine: logarithms and powers are those of numerics/rotary.h.
// Pure, thread-safe.
#pragma once

#include <vector>

#include "forge/model/model_config.h"

namespace forge::model {

/// The frequencies in radians per position, one for each pair: [size / 2]. Requires: validate()
/// accepts `rope`.
std::vector<double> rope_frequencies(const RopeConfig& rope);

/// The factor of cosines and sines: YaRN's or LongRoPE's attention_factor, otherwise 1.
double rope_attention_factor(const RopeConfig& rope);

}  // namespace forge::model
