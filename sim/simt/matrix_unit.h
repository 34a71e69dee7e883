// The tensor core of a simulated warp: matrices gathered from the lanes, multiplied, and dealt out
// again (forge/simt/matrix.h). Products of 16 bits are steps of numerics/matrix_step.h, products of
// bytes are exact in 32 bits, which wrap around.
#pragma once

#include <array>

#include "forge/numerics/matrix_step.h"
#include "forge/simt/meeting.h"

namespace forge::simt {

/// Adds A B^T to the sums of the shares.
void multiply_matrices(std::array<detail::MatrixShare, kWarpSize>& shares, MatrixType type,
                       const numerics::StepModel& model);

}  // namespace forge::simt
