// Angles of rotary position embedding (RoPE), the same bits on every machine.
//
// Pair i of a head of size D turns by the angle position * base^(-2i/D). The tables
// of cos and sin are computed once, on the host, in double precision with explicit fma and no
// libm function that a platform may implement differently; a GPU target uploads them.
//
// Host only, pure, thread-safe. Source: Su et al., "RoFormer", arXiv:2104.09864, section 3.2.2.
#pragma once

#include <cstdint>
#include <cstring>

namespace forge::numerics {

struct SinCos {
  float sin;
  float cos;
};

/// Sine and cosine of `angle` (radians, |angle| < 2^30), rounded to float: error below
/// 0.51 ulp, or 2^-70 absolute where that is larger.
///
/// angle = n pi/2 + r with |r| <= pi/4; Taylor series of sin r and cos r, then
/// the quadrant n % 4 says which is which and with what sign.
inline SinCos sincos(double angle) {
  constexpr double kRound = 0x1.8p+52;  // adding it rounds to an integer
  constexpr double kHalfPi[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                 -0x1.f1976b7ed8fbcp-110};
  const double n = __builtin_fma(angle, 0x1.45f306dc9c883p-1, kRound) - kRound;
  double r = angle;
  for (const double part : kHalfPi) r = __builtin_fma(-n, part, r);

  const double z = -(r * r);
  double sin = 1.0;
  double cos = 1.0;
  for (int k = 16; k >= 2; k -= 2) {
    sin = __builtin_fma(sin, z / (k * (k + 1.0)), 1.0);
    cos = __builtin_fma(cos, z / (k * (k - 1.0)), 1.0);
  }
  sin = sin * r;

  const auto quadrant = static_cast<std::int64_t>(n) & 3;
  const double first = quadrant % 2 == 0 ? sin : cos;
  const double second = quadrant % 2 == 0 ? cos : sin;
  return {static_cast<float>(quadrant >= 2 ? -first : first),
          static_cast<float>(quadrant == 1 || quadrant == 2 ? -second : second)};
}

/// ln(x) in double, for finite normal x > 0.
inline double log_double(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu;
  const auto from_sqrt_half = static_cast<std::int64_t>(bits - kSqrtHalf);
  const auto n = static_cast<double>(from_sqrt_half >> 52);
  const std::uint64_t mantissa_bits =
      (static_cast<std::uint64_t>(from_sqrt_half) & 0x000fffffffffffffu) + kSqrtHalf;
  double m;
  std::memcpy(&m, &mantissa_bits, sizeof m);

  // ln m = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...), |s| < 0.172.
  const double s = (m - 1.0) / (m + 1.0);
  double series = 0.0;
  for (int k = 23; k >= 1; k -= 2) series = __builtin_fma(series, s * s, 1.0 / k);
  return __builtin_fma(n, 0x1.62e42fefa39efp-1, 2.0 * s * series);
}

/// e^x in double, for |x| <= 700.
inline double exp_double(double x) {
  constexpr double kRound = 0x1.8p+52;
  const double n = __builtin_fma(x, 0x1.71547652b82fep+0, kRound) - kRound;
  double r = __builtin_fma(-n, 0x1.62e42fefa39efp-1, x);
  r = __builtin_fma(-n, 0x1.abc9e3b39803fp-56, r);
  double y = 1.0;
  for (int k = 14; k >= 1; --k) y = __builtin_fma(y, r / k, 1.0);
  const auto power_bits = static_cast<std::uint64_t>(1023 + static_cast<std::int64_t>(n)) << 52;
  double power;
  std::memcpy(&power, &power_bits, sizeof power);
  return y * power;
}

/// base^(-2 pair / head_size): the angle by which pair `pair` of a head turns per position;
/// relative error below 2^-48 for bases up to 10^6. Requires: base > 0 (10000 for Llama), 0 <= pair
/// < head_size / 2. Use: sincos(position * rotary_frequency(base, pair, head_size)).
inline double rotary_frequency(double base, int pair, int head_size) {
  return exp_double(-2.0 * pair / head_size * log_double(base));
}

}  // namespace forge::numerics
