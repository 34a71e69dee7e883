// The changed copy of a kernel's source, in a namespace of its own beside the real one.
// CMakeLists.txt says which.
#include "forge/simt/dialect.h"
#include "forge/simt/machine.h"

#undef FORGE_KERNELS
#define FORGE_KERNELS forge::FORGE_PLANTED_NAMESPACE
#include FORGE_PLANTED_SOURCE

namespace FORGE_KERNELS {

simt::Entry planted_kernel() { return FORGE_KERNEL_ENTRY(FORGE_PLANTED_KERNEL); }

}  // namespace FORGE_KERNELS
