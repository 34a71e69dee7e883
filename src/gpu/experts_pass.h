// ExpertsPass: the mixture of experts of one layer on the device, and its intermediate results. The
// same operations in the same order as model/experts.h:
//
//   project(router) -> choose_experts -> plan_experts (expert_routing.h)
//   -> project_experts(gate, up) -> glu -> project_experts(down)
//   -> [shared experts, mlp_pass.h; project(their gate)] -> add_experts
//
// Only the device knows how many rows an expert gets: launches cover the most that there can be.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "expert_routing.h"
#include "mlp_pass.h"

namespace forge::gpu {

class ExpertsPass {
 public:
  /// Requires: the model has experts.
  ExpertsPass(const model::ModelConfig& model, const Capacity& capacity, Allocator& allocator);

  /// to = experts of x [rows][d].
  void run(const DevicePass& pass, const DeviceExperts& weights, const float* x,
           const Output& to) const;

 private:
  /// What is added to the experts of each row; null where a model has none.
  struct Shared {
    const float* produced = nullptr;  // [rows][d]
    const float* gates = nullptr;     // [rows]
  };

  Shared run_shared(const DevicePass& pass, const DeviceExperts& weights, const float* x) const;

  model::ExpertsConfig config_;
  int hidden_size_;

  ExpertRouting routing_;
  // [rows][...]. There are A experts for each row.
  Buffer gate_up_;   // [A][2 F]
  Buffer gated_;     // [A][F]
  Buffer produced_;  // [A][d]
  Buffer shared_;    // [d] what the shared experts made
  Buffer gates_;     // [1] products of their gate
  MlpPass shared_mlp_;
};

}  // namespace forge::gpu
