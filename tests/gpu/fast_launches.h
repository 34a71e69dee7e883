// FastLaunches: a launch of each kernel of fast numerics, of a size at which each of its words
// matters: rings that turn twice and a tail, three spans, and rows, outputs, pairs and keys that
// are not there, some for a whole block.
#pragma once

#include <cstdint>

#include "gpu/kv_world.h"
#include "gpu/simulated_memory.h"

namespace forge::gpu {

/// A launch that may begin while the one before still writes its input.
struct OverlappingLaunch {
  KernelLaunch launch;
  simt::MemoryRange input;
};

class FastLaunches {
 public:
  /// Borrows `memory`, for the arrays of all launches.
  explicit FastLaunches(SimulatedMemory& memory);

  OverlappingLaunch scale_rows();
  OverlappingLaunch code_rows();
  OverlappingLaunch prepare_heads();
  OverlappingLaunch project_narrow();
  OverlappingLaunch project_narrow_short();  ///< of less inputs than a stage
  OverlappingLaunch project_wide();
  OverlappingLaunch project_wide_small();  ///< with its small blocks
  OverlappingLaunch project_wide_slim();
  OverlappingLaunch finish_product();
  OverlappingLaunch project_codes_few();
  OverlappingLaunch project_codes_narrow();
  OverlappingLaunch project_codes_wide();  ///< of an odd number of panels
  OverlappingLaunch choose_experts();
  OverlappingLaunch plan_experts();
  OverlappingLaunch project_experts_narrow();        ///< after plan_experts
  OverlappingLaunch project_experts_wide();          ///< after another product of experts
  OverlappingLaunch project_experts_codes_narrow();  ///< after plan_experts
  OverlappingLaunch project_experts_codes_wide();    ///< after code_rows
  OverlappingLaunch add_experts();
  OverlappingLaunch attend_spans();
  OverlappingLaunch merge_spans();
  OverlappingLaunch attend_wide();
  OverlappingLaunch prepare_latents();
  OverlappingLaunch project_heads_wide();  ///< in small blocks
  OverlappingLaunch attend_latent_spans();

  // Of a size at which nothing is missing, to count wavefronts.
  OverlappingLaunch project_narrow_full();
  OverlappingLaunch project_wide_full();
  OverlappingLaunch project_wide_small_full();
  OverlappingLaunch project_wide_slim_full();
  OverlappingLaunch project_codes_narrow_full();
  OverlappingLaunch project_codes_wide_full();
  OverlappingLaunch project_experts_narrow_full();
  OverlappingLaunch project_experts_wide_full();
  OverlappingLaunch project_experts_codes_narrow_full();
  OverlappingLaunch project_experts_codes_wide_full();
  OverlappingLaunch attend_spans_full();
  OverlappingLaunch attend_wide_full();
  OverlappingLaunch project_heads_wide_full();
  OverlappingLaunch attend_latent_spans_full();

 private:
  struct ProductSize {
    std::uint32_t rows;
    int rows_max;
    int inputs;
    int outputs;
  };

  template <class Args>
  OverlappingLaunch overlapping(const Args& args, const simt::LaunchShape& shape,
                                const void* input) const {
    return {launch_of(args, shape),
            *memory_.map().find(reinterpret_cast<std::uintptr_t>(input), 1)};
  }
  std::uint16_t* halves(const char* name, int count);
  const PassCounts* one_row();
  TensorProduct product(const ProductSize& size);
  /// Of a kind that has a head, in any number of groups.
  CodeProduct codes(const ProductSize& size, linear::PanelKind kind = linear::PanelKind::int8);
  OverlappingLaunch wide(WideKind kind);
  OverlappingLaunch wide_full(WideKind kind);
  /// Of a tile of all rows with the second of two experts, in tiles of which there may be more.
  ExpertProduct expert_product(const ProductSize& size);
  /// The same, with panels of codes and rows in 8 bits.
  ExpertProduct expert_codes(const ProductSize& size, linear::PanelKind kind);
  template <class Args>
  OverlappingLaunch of_expert_codes(const ProductSize& size, linear::PanelKind kind);
  /// Of the rows at the last of `length` positions, one of which decodes.
  SpanInput attention(const KvShape& shape, int length, int rows = 1);
  /// Of the same in a tile.
  AttendWideArgs wide_attention(const KvShape& shape, int length, int rows);
  LatentLayer latents(int latent_size, int rope_size, int length);
  /// Of a row at the last of `length` positions, which decodes.
  AttendLatentSpansArgs latent_attention(const LatentLayer& latents, int heads, int length);
  /// Of two heads, in small blocks.
  ProjectHeadsWideArgs heads(int rows, int inputs, int outputs);

  SimulatedMemory& memory_;
  Random random_{1};
};

}  // namespace forge::gpu
