// The instrumented build of the kernels.
#include "simt/test_kernels.cuh"
