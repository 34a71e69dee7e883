#include "forge/model/mlp.h"

#include "forge/numerics/vector_ops.h"
#include "room.h"

namespace forge::model {

using detail::offset;
using detail::room;

void mlp(const PackedMlp& weights, Rows x, float* out, MlpScratch& scratch, Workers& workers) {
  const int F = weights.size();
  float* gate_up = room(scratch.gate_up, x.count, 2 * F);
  float* gated = room(scratch.gated, x.count, F);
  workers.multiply(Operation::gate_up, x, weights.gate_up, gate_up);
  workers.for_rows(Operation::activation, x.count, [&](int row) {
    float* gate = gate_up + offset(row, 2 * F);
    if (!weights.gate_up_bias.empty()) numerics::add(gate, weights.gate_up_bias.data(), 2 * F);
    if (weights.activation == Activation::gelu_tanh) {
      numerics::gelu_tanh_multiply(gate, gate + F, F, gated + offset(row, F));
    } else {
      numerics::silu_multiply(gate, gate + F, F, gated + offset(row, F));
    }
  });
  workers.multiply(Operation::down, {gated, x.count}, weights.down, out);
  if (weights.down_bias.empty()) return;
  const int d = weights.down.outputs();
  workers.for_rows(Operation::down, x.count, [&](int row) {
    numerics::add(out + offset(row, d), weights.down_bias.data(), d);
  });
}

}  // namespace forge::model
