// Ranges of a model's numbers, as ModelConfig and the files that it is read from have them.
#pragma once

#include <cstdint>

#include "forge/core/range.h"
#include "forge/model/model_config.h"

namespace forge::model {

inline constexpr IntegerRange kSizes{1, kSizeMax};
inline constexpr IntegerRange kSizesOrNone{0, kSizeMax};
inline constexpr IntegerRange kLayerCounts{1, kLayersMax};
inline constexpr IntegerRange kHeadCounts{1, kHeadsMax};
inline constexpr IntegerRange kHeadSizes{1, kHeadSizeMax};
inline constexpr IntegerRange kExpertCounts{1, kExpertsMax};
inline constexpr IntegerRange kPositionCounts{1, kPositionsMax};
inline constexpr IntegerRange kTokens{0, UINT32_MAX};
inline constexpr NumberRange kEpsilons{0, 1};
inline constexpr NumberRange kScales{1e-6, 1e6};  // scales of scores, and other factors
inline constexpr NumberRange kCaps{0, 1e6};       // of scores and logits; 0: none
inline constexpr NumberRange kClamps{1e-3, 1e6};  // the numbers of clamped_swiglu
/// Divisors of frequencies: no angle, of kPositionsMax positions, reaches 2^30 (numerics/rotary.h).
inline constexpr NumberRange kRopeDivisors{0x1p-5, 1e6};
inline constexpr NumberRange kRopeBases{1, 1e12};  // at 1, all pairs turn by a radian a token
inline constexpr NumberRange kRopeFactors{1, 1e6};
inline constexpr NumberRange kRopeTurns{1e-3, 1e6};
inline constexpr NumberRange kRopePositions{1, kPositionsMax};

}  // namespace forge::model
