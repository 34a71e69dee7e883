// build_passes: turns the slices of a step into rows on the device, pass by pass.
//
//   pass     decode rows first: those that are alone in their run, then the rest in tiles, of up to
//            Capacity::tile_rows, here 8
//            | s1 | s4 | s5 | s2 s2 s2 s2 s2 s2 s2 s2 | s2 s2 | s3 s3 s3 |
//   slabs    every Capacity::slab_rows rows; a slab goes through all layers before the next
//
// executor/step_slices.h says which rows a slice has in a pass, and which of them want logits. Rows
// of drafts that a pass proposes name a place among the step's drafts, because the token is only on
// the device.
//
// Allocates nothing: StepInput has room for all that a capacity allows.
#pragma once

#include "capacity.h"
#include "forge/executor/step_slices.h"
#include "step_input.h"

namespace forge::gpu {

/// Appends slabs, rows, logits and tiles of all passes. Requires: the step keeps to `capacity`.
void build_passes(const executor::StepSlices& step, const Capacity& capacity, StepInput& input);

}  // namespace forge::gpu
