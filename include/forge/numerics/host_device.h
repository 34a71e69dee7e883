// FORGE_HOST_DEVICE: marks a function that the host compiler and the CUDA compiler
// both build from the same source. Without CUDA it means nothing.
#pragma once

#ifdef __CUDACC__
#define FORGE_HOST_DEVICE __host__ __device__
#else
#define FORGE_HOST_DEVICE
#endif
