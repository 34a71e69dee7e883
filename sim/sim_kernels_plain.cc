#include "kernel_table.cuh"
#include "sim_kernel_tables.h"

namespace forge::sim {

KernelEntries plain_kernels() { return kernels::plain::kernel_table(); }

}  // namespace forge::sim
