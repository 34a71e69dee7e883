// Compiled with FORGE_SIMT_INSTRUMENTED=1.
#include "kernel_table.cuh"
#include "sim_kernel_tables.h"

namespace forge::sim {

KernelEntries instrumented_kernels() { return kernels::instrumented::kernel_table(); }

}  // namespace forge::sim
