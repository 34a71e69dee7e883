// MlpPass: the dense MLP of one layer on the device, and its intermediate results:
// project(gate, up), glu, project(down), as model/mlp.h.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"

namespace forge::gpu {

class MlpPass {
 public:
  /// `size` is F; it may be 0 where no layer has such an MLP.
  MlpPass(int size, const Capacity& capacity, Allocator& allocator);

  /// to = MLP of x [rows][d].
  void run(const DevicePass& pass, const DeviceMlp& weights, const float* x,
           const Output& to) const;

 private:
  Buffer gate_up_;  // [rows][2 F]
  Buffer gated_;    // [rows][F]
};

}  // namespace forge::gpu
