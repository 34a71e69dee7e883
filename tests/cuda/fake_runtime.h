// A CUDA runtime without a GPU: the functions that layer cuda calls, over host memory and the
// simulated machine. Tests of CudaDevice link it instead of the real one, so that its code runs,
// and fails, wherever there are the toolkit's headers.
//
// Operations run when they are called, captured ones at each launch of their graph. As in the real
// one, a capture does not allow to allocate, to free or to wait.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace forge::testing {

/// From now on: one device of compute capability `major`.0, nothing allocated, nothing failing.
void reset_fake_runtime(int major = 9);

/// The next call of `function` answers `code` and does nothing. A code that loses the device comes
/// back from every later call.
void fail_next(const std::string& function, cudaError_t code);

/// Streams, events, graphs and pieces of memory that have not been freed.
int live_objects();

/// Launches that were allowed to begin before the one before had ended.
int overlapping_launches();

}  // namespace forge::testing
