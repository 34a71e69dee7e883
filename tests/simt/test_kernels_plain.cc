// The plain build of the kernels.
#include "simt/test_kernels.cuh"
