// Accepted ranges of numbers, and how an error shows them.
#pragma once

#include <cstdint>
#include <string>

#include "forge/model/model_config.h"

namespace forge::model {

/// Both ends included.
struct IntegerRange {
  std::int64_t lowest = 1;
  std::int64_t highest = kSizeMax;
  bool contains(std::int64_t value) const { return lowest <= value && value <= highest; }
};
struct NumberRange {
  double lowest = 0;
  double highest = 0;
  bool contains(double value) const { return lowest <= value && value <= highest; }  // no NaN
};

inline constexpr IntegerRange kSizes{1, kSizeMax};
inline constexpr IntegerRange kSizesOrNone{0, kSizeMax};
inline constexpr IntegerRange kLayerCounts{1, kLayersMax};
inline constexpr IntegerRange kHeadCounts{1, kHeadsMax};
inline constexpr IntegerRange kHeadSizes{1, kHeadSizeMax};
inline constexpr IntegerRange kExpertCounts{1, kExpertsMax};
inline constexpr IntegerRange kPositionCounts{1, kPositionsMax};
inline constexpr IntegerRange kTokens{0, UINT32_MAX};
inline constexpr NumberRange kEpsilons{0, 1};
inline constexpr NumberRange kScales{1e-6, 1e6};   // of scores, and whatever else multiplies
inline constexpr NumberRange kRopeBases{1, 1e12};  // at 1, all pairs turn by a radian a token
inline constexpr NumberRange kRopeFactors{1, 1e6};
inline constexpr NumberRange kRopeTurns{1e-3, 1e6};
inline constexpr NumberRange kRopePositions{1, kPositionsMax};

/// Shortest text that is read back as the same number: "0.001", "1e+06".
std::string number_text(double value);

/// "1 .. 1024", or "4" alone
std::string to_string(const IntegerRange& range);
std::string to_string(const NumberRange& range);

/// "an integer, 1 .. 1024", or "4" alone
std::string accepted(const IntegerRange& range);
std::string accepted(const NumberRange& range);

}  // namespace forge::model
