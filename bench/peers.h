// The section "peers" of forge-cuda-bench: our kernels beside FlashInfer's and cuBLASLt's, on the
// same numbers in the same memory, in time and in whether bits survive a change of batch.
//
//   attention   the definition (canonical kernels), ours (fast numerics), FlashInfer in the ways in
//               which its Python package calls it      peers_levels.h, peers_flashinfer.h
//   products    ours, cuBLASLt by its own choice       peers_products.h, peers_blas_lt.h
//
// How to read a line:
//
//   us, GB/s, TFLOP/s   the median of rounds of launches in a row in a graph, by the device's
//                       clock: no host is in it, neither our executor nor FlashInfer's planner.
//                       GB/s are keys and values, or weights, once; TFLOP/s what cannot but be
//                       multiplied
//   bits survive        whether a request has the same bits in other company (peers_attention.h),
//                       and a row among other numbers of rows. If not, how many results differ
//   definition, ours    the largest difference from these. Ours and FlashInfer round their results
//                       to bf16, the definition does not: up to half of such a step says nothing
//   bits of ours        whether cuBLASLt's first row is ours to the bit
//
// Numerics of ours promise bits that survive; a "no" there is a bug. Neither library promises that
// for what it does by default, so a "no" there is what the choice costs or gains.
//
// A level that cannot run says why: libraries may be missing, FlashInfer not built in.
#pragma once

#include <nlohmann/json.hpp>

#include "forge/gpu/device.h"

namespace forge {

/// Measures all, and prints each line when it is done. Requires: a real device.
nlohmann::ordered_json measure_peers(gpu::Device& device);

}  // namespace forge
