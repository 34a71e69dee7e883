// The plain build of the kernels of matrices.
#include "simt/matrix_kernels.cuh"
