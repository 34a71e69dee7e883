// The instrumented build of the kernels.
#include "simt_bench_kernels.cuh"
