// CudaDevice: a real GPU through the CUDA runtime. Every call is checked; an error names the call,
// what it was for, and the device.
//
// Declared here without a CUDA type, so that programs build where no toolkit is: there, opening a
// device is an error that says so.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/gpu/device.h"

namespace forge::cuda {

/// Was this build made with a CUDA toolkit?
bool built_with_cuda();

/// Devices that the driver shows; 0 without a toolkit, a driver or a GPU.
int device_count();

/// Opens device `index`. Errors: no toolkit, no driver, no such device, or one older than sm_80.
tl::expected<std::unique_ptr<gpu::Device>, gpu::DeviceError> open_device(int index = 0);

}  // namespace forge::cuda
