// FastExperts: the mixture of experts of one layer in fast numerics (numerics/fast.h), and its
// intermediate results. It is six launches, up to nine with shared experts, and one more for each
// product with codes:
//
//   product             z of the router
//   choose_experts      (expert_routing.h)
//   plan_experts        (the same)
//   product of experts  gate and up, gated
//   product of experts  down
//   product, product    of the shared experts: gate and up, gated; down
//   product             z of their gate
//   add_experts         +=, and the rows of the next norm
//
// A product of experts is project_experts_narrow or project_experts_wide, or those of codes after
// a launch that rounds the rows to 8 bits (expert_product.h). Only the device knows how many rows
// an expert gets: launches cover the most that there can be. Both products of a layer have the
// tiles of one plan.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "expert_routing.h"
#include "fast_products.h"
#include "forge/gpu/kernels/project_experts_wide.h"

namespace forge::gpu {

class FastExperts {
 public:
  /// Requires: the model has experts, and takes_fast (fast_shapes.h) it.
  FastExperts(const model::ModelConfig& model, numerics::HalfType type, const Capacity& capacity,
              Allocator& allocator);

  /// to = experts of x [rows][d], and `next` what the next sub-layer reads of it.
  void run(const DevicePass& pass, const DeviceExperts& weights, const FastRows& x,
           const Output& to, const NextRows& next) const;

 private:
  /// The rows of a product, and the blocks that multiply them: those of project_experts_wide, or
  /// of codes as many rows, or for few rows.
  struct Tiles {
    RowCount rows;
    std::optional<WideKind> wide;
  };

  std::optional<WideKind> wide_kind_of(const DevicePass& pass, const DeviceExperts& weights) const;
  ExpertProduct product_of_experts(const DevicePass& pass, const FastRows& x,
                                   const DeviceMatrices& matrices) const;
  void multiply(const DevicePass& pass, const ExpertProduct& product,
                const DeviceMatrices& matrices, const Tiles& tiles) const;
  template <class Args>
  void launch(const DevicePass& pass, Args args) const;
  void run_shared(const DevicePass& pass, const DeviceExperts& weights, const FastRows& x) const;

  model::ExpertsConfig config_;
  int hidden_size_;
  FastProducts products_;
  ExpertRouting routing_;

  // [rows][...], h: of products_.type(). There are A experts for each row.
  Buffer gated_;         // [A][F] h
  Buffer produced_;      // [A][d]
  Buffer shared_gated_;  // [F of the shared experts] h
  Buffer shared_;        // [d] what the shared experts made
  Buffer gates_;         // [1] products of their gate
};

}  // namespace forge::gpu
