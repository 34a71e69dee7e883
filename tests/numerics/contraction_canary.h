// Dies when the compiler fuses a product and a sum that the source keeps apart.
#pragma once

namespace forge::numerics {

/// Whether a * b + c was evaluated with one rounding in the code that calls this.
/// a^2 = 1 + 2^-11 + 2^-24 exactly. Rounded, its last term is gone (a tie, to even) and the
/// difference to 1 + 2^-11 is 0; fused, the difference is 2^-24.
inline bool is_contracted() {
  volatile float a_source = 0x1.001p+0f;
  volatile float c_source = -0x1.002p+0f;
  const float a = a_source;
  const float c = c_source;
  return a * a + c != 0.0f;
}

}  // namespace forge::numerics
