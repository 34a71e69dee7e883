// All kernels, compiled to PTX only: check_ptx.cmake reads there what became of their arithmetic.
#include "kernels.cuh"
