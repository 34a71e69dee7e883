// FlashInfer's paged attention beside ours: its planner on the host and its kernels, as its Python
// package calls them, from the headers of that package (version 0.6.8). Heads have 128 components,
// four share a KV head, all numbers are bf16.
//
//   way             as in Python
//   decode          BatchDecodeWithPagedKVCacheWrapper: on CUDA cores, its default
//   tensor cores    the same with use_tensor_cores, meant for query heads that share keys
//   fixed split     that with fixed_split_size, of which its documentation promises results that
//                   the batch size does not change
//   prefill         BatchPrefillWithPagedKVCacheWrapper, backend "fa2", causal
//   no split        the same with disable_split_kv, meant for determinism
//
// On Hopper its default for prefills is another backend, "fa3", whose headers need those of
// CUTLASS. It is not measured; on other GPUs "auto" is fa2.
//
// What is odd about its plans: they are made for the batch and for the number of the device's
// multiprocessors. The planner splits contexts until these are busy, writes how into the pinned
// workspace, and queues a copy to the device, so the workspace may change only when that is done.
// Launches of one plan can be captured: enable_cuda_graph, which stays off, is for graphs whose
// plan changes afterwards.
//
// Apache-2.0; nothing of it is in this repository. peers_no_flashinfer.cc stands in where its
// headers are not. README.md says how to get them.
//
// Thread contract: as PagedAttention.
#pragma once

#include <memory>

#include "peers_paged.h"

namespace forge {

enum class FlashInferWay : std::uint8_t { decode, tensor_cores, fixed_split, prefill, no_split };

/// As large as the Python package makes them.
inline constexpr PagedWorkspace::Bytes kFlashInferWorkspace{std::size_t{128} << 20,
                                                            std::size_t{8} << 20};

/// Errors: it is not built in, heads are others, or the runtime fails.
tl::expected<std::unique_ptr<PagedAttention>, std::string> make_flashinfer(
    FlashInferWay way, const PagedCache& cache, const PagedWorkspace& workspace);

}  // namespace forge
