// The kernels of the forward pass, listed once: their order here is that of every table of kernels.
// Each has a page of its own in gpu/kernels/: what it computes, its arguments, the shape of its
// launch, what a block takes, and an example. The kernels are in cuda/kernels/, one file each, and
// cuda/kernels/README.md says how to add one.
//
// Each kernel takes one struct of plain values and device pointers, and is launched with the shape
// that the struct's shape() gives; kThreads is the most threads a block can have. Row counts are
// read from device memory, so that a launch captured in a graph for a bucket of rows serves every
// smaller number: blocks of rows beyond the count return at once.
//
// Arithmetic is the canonical fp32 tier (numerics/canonical.h, numerics/attention.h): each output
// has the bits of the CPU's, whatever the launch shape. The kernels from scale_rows to
// attend_latent_spans are those of fast numerics on tensor cores (numerics/fast.h): their outputs
// do not depend on the launch shape either.
//
// Legend: T rows of a pass, R of them with logits, V vocabulary, d hidden size, H query heads, Hkv
// KV heads, G = H / Hkv, D head size, F inner size of an MLP, S block size (slots), K and N inputs
// and outputs of a product. Panels: linear/linear_weights.h. Blocks of KV: model/kv_pool.h.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "forge/gpu/kernels/add_experts.h"
#include "forge/gpu/kernels/attend_decode.h"
#include "forge/gpu/kernels/attend_latent.h"
#include "forge/gpu/kernels/attend_latent_merge.h"
#include "forge/gpu/kernels/attend_latent_spans.h"
#include "forge/gpu/kernels/attend_latent_split.h"
#include "forge/gpu/kernels/attend_merge.h"
#include "forge/gpu/kernels/attend_prompt.h"
#include "forge/gpu/kernels/attend_spans.h"
#include "forge/gpu/kernels/attend_split.h"
#include "forge/gpu/kernels/attend_wide.h"
#include "forge/gpu/kernels/choose_experts.h"
#include "forge/gpu/kernels/code_rows.h"
#include "forge/gpu/kernels/copy_blocks.h"
#include "forge/gpu/kernels/digest_logits.h"
#include "forge/gpu/kernels/embed.h"
#include "forge/gpu/kernels/finish_product.h"
#include "forge/gpu/kernels/glu.h"
#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/merge_spans.h"
#include "forge/gpu/kernels/plan_experts.h"
#include "forge/gpu/kernels/prepare_heads.h"
#include "forge/gpu/kernels/prepare_latents.h"
#include "forge/gpu/kernels/process_logits.h"
#include "forge/gpu/kernels/project.h"
#include "forge/gpu/kernels/project_codes_few.h"
#include "forge/gpu/kernels/project_codes_narrow.h"
#include "forge/gpu/kernels/project_codes_wide.h"
#include "forge/gpu/kernels/project_experts.h"
#include "forge/gpu/kernels/project_experts_codes_narrow.h"
#include "forge/gpu/kernels/project_experts_codes_wide.h"
#include "forge/gpu/kernels/project_experts_narrow.h"
#include "forge/gpu/kernels/project_experts_wide.h"
#include "forge/gpu/kernels/project_heads.h"
#include "forge/gpu/kernels/project_heads_wide.h"
#include "forge/gpu/kernels/project_narrow.h"
#include "forge/gpu/kernels/project_wide.h"
#include "forge/gpu/kernels/rms_norm.h"
#include "forge/gpu/kernels/rotate_and_store.h"
#include "forge/gpu/kernels/sample.h"
#include "forge/gpu/kernels/scale_rows.h"
#include "forge/gpu/kernels/store_latent.h"
#include "forge/gpu/kernels/update_tables.h"

/// ENTRY(name of the kernel, its arguments) for each kernel.
#define FORGE_FOR_EACH_KERNEL(ENTRY)                                 \
  ENTRY(update_tables, UpdateTablesArgs)                             \
  ENTRY(copy_blocks, CopyBlocksArgs)                                 \
  ENTRY(embed, EmbedArgs)                                            \
  ENTRY(rms_norm, RmsNormArgs)                                       \
  ENTRY(code_rows, CodeRowsArgs)                                     \
  ENTRY(project, ProjectArgs)                                        \
  ENTRY(rotate_and_store, RotateAndStoreArgs)                        \
  ENTRY(attend_decode, AttendDecodeArgs)                             \
  ENTRY(attend_split, AttendSplitArgs)                               \
  ENTRY(attend_merge, AttendMergeArgs)                               \
  ENTRY(attend_prompt, AttendPromptArgs)                             \
  ENTRY(project_heads, ProjectHeadsArgs)                             \
  ENTRY(store_latent, StoreLatentArgs)                               \
  ENTRY(attend_latent, AttendLatentArgs)                             \
  ENTRY(attend_latent_split, AttendLatentSplitArgs)                  \
  ENTRY(attend_latent_merge, AttendLatentMergeArgs)                  \
  ENTRY(choose_experts, ChooseExpertsArgs)                           \
  ENTRY(plan_experts, PlanExpertsArgs)                               \
  ENTRY(project_experts, ProjectExpertsArgs)                         \
  ENTRY(add_experts, AddExpertsArgs)                                 \
  ENTRY(glu, GluArgs)                                                \
  ENTRY(scale_rows, ScaleRowsArgs)                                   \
  ENTRY(project_narrow, ProjectNarrowArgs)                           \
  ENTRY(project_wide, ProjectWideArgs)                               \
  ENTRY(finish_product, FinishProductArgs)                           \
  ENTRY(project_codes_few, ProjectCodesFewArgs)                      \
  ENTRY(project_codes_narrow, ProjectCodesNarrowArgs)                \
  ENTRY(project_codes_wide, ProjectCodesWideArgs)                    \
  ENTRY(project_experts_narrow, ProjectExpertsNarrowArgs)            \
  ENTRY(project_experts_wide, ProjectExpertsWideArgs)                \
  ENTRY(project_experts_codes_narrow, ProjectExpertsCodesNarrowArgs) \
  ENTRY(project_experts_codes_wide, ProjectExpertsCodesWideArgs)     \
  ENTRY(prepare_heads, PrepareHeadsArgs)                             \
  ENTRY(attend_spans, AttendSpansArgs)                               \
  ENTRY(merge_spans, MergeSpansArgs)                                 \
  ENTRY(attend_wide, AttendWideArgs)                                 \
  ENTRY(project_heads_wide, ProjectHeadsWideArgs)                    \
  ENTRY(prepare_latents, PrepareLatentsArgs)                         \
  ENTRY(attend_latent_spans, AttendLatentSpansArgs)                  \
  ENTRY(process_logits, ProcessLogitsArgs)                           \
  ENTRY(sample, SampleArgs)                                          \
  ENTRY(digest_logits, DigestLogitsArgs)

namespace forge::gpu {

enum class KernelId : std::uint8_t {
#define FORGE_ENTRY(name, Args) name,
  FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY
};

inline constexpr std::array kKernelNames{
#define FORGE_ENTRY(name, Args) std::string_view(#name),
    FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY
};
constexpr std::string_view name(KernelId kernel) {
  return kKernelNames[static_cast<std::size_t>(kernel)];
}

/// What a thread block of `kernel` needs of a multiprocessor, without a dynamic array.
constexpr BlockResources resources_of(KernelId kernel) {
  constexpr std::array kResources{
#define FORGE_ENTRY(name, Args) Args::kResources,
      FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY
  };
  return kResources[static_cast<std::size_t>(kernel)];
}

/// The kernel that takes these arguments.
#define FORGE_ENTRY(name, Args) \
  constexpr KernelId kernel_of(const Args&) { return KernelId::name; }
FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY

/// Whether the kernel that takes these arguments waits itself for the launch before
/// (simt/launch_chain.h), because its page says so: kOverlaps.
template <class Args>
inline constexpr bool kLaunchOverlaps = requires {
  requires Args::kOverlaps;
};

/// The launch of a kernel in a shape of Args::shape(). Requires: no dimension of the grid is 0.
template <class Args>
KernelLaunch launch_of(const Args& args, const simt::LaunchShape& shape) {
  static_assert(sizeof(Args) <= KernelLaunch::kArgsMax && std::is_trivially_copyable_v<Args>);
  KernelLaunch launch{.kernel = kernel_of(args), .shape = shape, .overlaps = kLaunchOverlaps<Args>};
  std::memcpy(launch.args.data(), &args, sizeof args);
  return launch;
}

/// What a thread block of the launch needs of a multiprocessor.
constexpr BlockResources resources_of(const KernelLaunch& launch) {
  BlockResources resources = resources_of(launch.kernel);
  resources.shared_bytes += launch.shape.shared_bytes;
  return resources;
}

/// What `visitor` returns for the arguments of the launch, by their type.
template <class Visitor>
auto visit_args(const KernelLaunch& launch, const Visitor& visitor) {
  switch (launch.kernel) {
#define FORGE_ENTRY(name, Args)                          \
  case KernelId::name: {                                 \
    Args args;                                           \
    std::memcpy(&args, launch.args.data(), sizeof args); \
    return visitor(args);                                \
  }
    FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY
  }
  std::abort();  // no kernel has this number
}

}  // namespace forge::gpu
