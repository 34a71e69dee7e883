// Numbers whose sums of products tell one order of addition from another.
//
//   cancelling   x: 2^-14 everywhere, but 2^10 and -2^10 at two inputs; weights: 1 or -1. Between
//                the two large ones a sum keeps little or nothing of the small ones, so it says
//                which of them were added where, and in how large groups (the method of
//                facebookexperimental/triton #2757)
//   spread       both: of random sign and magnitude, from 2^-8 to 2^8: every rounding differs
#pragma once

#include <cstdint>
#include <vector>

#include "forge/numerics/half.h"

namespace forge::gpu {

enum class ProbeKind : std::uint8_t { cancelling, spread };

/// [rows][inputs], a function of its arguments alone, in the bits of `type`.
std::vector<std::uint16_t> probe_rows(ProbeKind kind, numerics::HalfType type, int rows,
                                      int inputs);
std::vector<std::uint16_t> probe_weights(ProbeKind kind, numerics::HalfType type, int outputs,
                                         int inputs);

}  // namespace forge::gpu
