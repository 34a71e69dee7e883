// Panels: how products read a matrix of floats, on a CPU and on a GPU.
//
// Panel p holds the outputs [32 p, 32 p + 32) of W [outputs][inputs], zero padded, input by input,
// so that one step along the inputs reads 128 consecutive bytes, an output for each lane:
//
//   panel 0:  W[0][0] W[1][0] ... W[31][0] | W[0][1] W[1][1] ... W[31][1] | ... the last input
//   panel 1:  W[32][0] ...
//
// linear_weights.h says how other numbers than floats lie in panels.
#pragma once

namespace forge::linear {

inline constexpr int kPanelOutputs = 32;

}  // namespace forge::linear
