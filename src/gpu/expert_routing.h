// ExpertRouting: how the rows of a pass get to their experts: the launches that every mixture of
// experts has, whatever its products are (experts_pass.h, fast_experts.h), and their results:
//
//   choose_experts    choices, of the router's products
//   plan_experts      the pairs of rows and experts by expert, in tiles
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "forge/gpu/kernels/expert_data.h"

namespace forge::gpu {

class ExpertRouting {
 public:
  /// With room for tiles of `tile_rows` pairs and larger ones.
  ExpertRouting(const model::ExpertsConfig& config, int tile_rows, const Capacity& capacity,
                Allocator& allocator);

  /// Queues both launches, for tiles of that many pairs. correction_bias: [E] or null. Requires:
  /// products() are there.
  void run(const DevicePass& pass, const float* correction_bias, int tile_rows) const;

  float* products() const { return products_.as<float>(); }
  const ExpertChoice* choices() const { return choices_.as<ExpertChoice>(); }
  ExpertPlan plan() const;
  /// Tiles that a launch for the pass covers.
  int tiles_max(const DevicePass& pass, int tile_rows) const;
  /// The pairs, as rows.
  RowCount pairs(const DevicePass& pass) const;

 private:
  model::ExpertsConfig config_;

  // [rows][...]. There are E experts, A of them for each row.
  Buffer products_;  // [E] of the router
  Buffer choices_;   // [A] ExpertChoice
  Buffer pairs_;     // [A] ExpertPlan::pairs

  Buffer tiles_;        // [expert_tiles_max(rows)] ExpertTile
  Buffer tiles_count_;  // one
  Buffer counts_;       // one PassCounts
};

}  // namespace forge::gpu
