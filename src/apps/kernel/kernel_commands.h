// The commands of forge-kernel. Each returns an exit status (kernel_simulation.h).
#pragma once

#include <string>

#include "kernel_simulation.h"

namespace forge::apps {

struct KernelRunOptions {
  bool trace = false;
  bool as_json = false;
  std::string broken;  ///< "barrier:2", or empty
};

struct KernelStepOptions {
  std::string line;  ///< "attend_segment.cuh:131", "131" or a piece of its text
  long long block = 0;
  int warp = 0;
  int occurrence = 0;
};

int list_kernels();
int run_kernel(const KernelOptions& options, const KernelRunOptions& run);
int step_kernel(const KernelOptions& options, const KernelStepOptions& step);

/// Says on the standard error what is wrong. Returns kKernelUnusable.
int unusable_kernel(const std::string& message);

}  // namespace forge::apps
