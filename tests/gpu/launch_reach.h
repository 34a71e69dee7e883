// LaunchReach: what the launches of fast models reach, counted from their arguments and from the
// memory that these point to (watched_device.h): a test says so of the shapes that it relies on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "forge/gpu/kernels.h"

namespace forge::testing {

/// What the launches of one kernel reached; of project_wide and its like each kind of blocks is a
/// kernel of its own ("project_wide slim").
struct KernelReach {
  /// Products: there were more inputs than two turns of the ring, the last stage not a full one.
  bool turns_twice_with_tail = false;
  /// Products: rows of a launch, or of the tile of an expert. Attention: rows of a tile.
  std::set<std::uint32_t> rows;
  /// Attention: the most spans that a row saw, the last one ragged, within a tile of keys.
  int spans_with_ragged_last = 0;
  /// Attention: a row saw a first position that begins neither the context nor a tile of keys.
  bool begins_inside_tile = false;
};

class LaunchReach {
 public:
  /// Requires: the launch runs next, and what it points to can be read here.
  void note(const gpu::KernelLaunch& launch);

  const std::map<std::string, KernelReach>& kernels() const { return kernels_; }
  const KernelReach& of(const std::string& kernel) const { return kernels_.at(kernel); }
  /// How many rows of a pass an expert had.
  const std::set<std::uint32_t>& expert_rows() const { return expert_rows_; }

 private:
  struct Ring {
    int stages;
    int stage_inputs;
  };
  static Ring ring_of(const gpu::ProjectNarrowArgs& args);
  static Ring ring_of(const gpu::ProjectWideArgs& args);
  static Ring ring_of(const gpu::ProjectCodesFewArgs& args);
  static Ring ring_of(const gpu::ProjectCodesNarrowArgs& args);
  static Ring ring_of(const gpu::ProjectCodesWideArgs& args);

  template <class Args>
  void note_arguments(const std::string& name, const Args& args);
  void note_inputs(KernelReach& reach, const Ring& ring, int inputs);
  void note_row(KernelReach& reach, const gpu::SpanInput& in, std::uint32_t row);
  template <class Args>
  void note_attention(KernelReach& reach, const Args& args);
  void note_plan(const gpu::PlanExpertsArgs& args);

  std::map<std::string, KernelReach> kernels_;
  std::set<std::uint32_t> expert_rows_;
};

}  // namespace forge::testing
