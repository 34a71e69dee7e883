#include "forge/model/mlp.h"

#include "forge/numerics/vector_ops.h"
#include "room.h"

namespace forge::model {

using detail::offset;
using detail::room;

namespace {

/// gate_up [2 F], gate before up; out [F].
void activate(const PackedMlp& weights, const float* gate_up, float* out) {
  const int F = weights.size();
  switch (weights.activation) {
    case Activation::silu:
      return numerics::silu_multiply(gate_up, gate_up + F, F, out);
    case Activation::gelu_tanh:
      return numerics::gelu_tanh_multiply(gate_up, gate_up + F, F, out);
    case Activation::clamped_swiglu:
      return numerics::clamped_swiglu(gate_up, gate_up + F, weights.clamp, F, out);
  }
}

}  // namespace

void mlp(const PackedMlp& weights, Rows x, float* out, MlpScratch& scratch, Workers& workers) {
  const int F = weights.size();
  float* gate_up = room(scratch.gate_up, x.count, 2 * F);
  float* gated = room(scratch.gated, x.count, F);
  workers.multiply(Operation::gate_up, x, weights.gate_up, gate_up);
  workers.for_rows(Operation::activation, x.count, [&](int row) {
    float* gate = gate_up + offset(row, 2 * F);
    if (!weights.gate_up_bias.empty()) numerics::add(gate, weights.gate_up_bias.data(), 2 * F);
    activate(weights, gate, gated + offset(row, F));
  });
  workers.multiply(Operation::down, {gated, x.count}, weights.down, out);
  if (weights.down_bias.empty()) return;
  const int d = weights.down.outputs();
  workers.for_rows(Operation::down, x.count, [&](int row) {
    numerics::add(out + offset(row, d), weights.down_bias.data(), d);
  });
}

}  // namespace forge::model
