// The step of the tensor cores that a kernel test's target has (numerics/matrix_step.h).
#pragma once

#include "forge/cuda/cuda_device.h"
#include "forge/numerics/matrix_step.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {

/// Of an H200 where the target is simulated, as the machine's default is. Requires: there is such a
/// target here.
inline const numerics::StepModel& step_of(Target target) {
  if (target != Target::cuda) return numerics::kMmaSm90;
  static const int major = cuda::open_device().value()->info().compute_capability / 10;
  return numerics::step_model(major);
}

}  // namespace forge::gpu
