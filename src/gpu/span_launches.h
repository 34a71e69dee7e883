// How attention of fast numerics is launched (attention_path.h): decode rows, then tiles, whole or
// with their contexts split; then what was split is merged. What FastGroupedQuery and FastLatent
// share.
#pragma once

#include "attention_path.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {

/// Queues attend_spans, or attend_latent_spans, whose arguments are `whole`, for the decode rows of
/// the pass and for its tiles, unless their path is `wide`: those are the caller's. partial: room
/// for what is split.
template <class Args>
void launch_spans(const DevicePass& pass, const SpanPaths& paths, const Args& whole,
                  float* partial) {
  const PassCounts& covered = pass.shape.counts;
  Args split = whole;
  split.partial = partial;
  split.spans_max = static_cast<int>(paths.spans);
  if (covered.decode_rows > 0) {
    pass.queue.launch(paths.decodes == DecodePath::split ? split : whole, covered.decode_rows);
  }
  if (covered.prompt_tiles > 0 && paths.tiles != TilePath::wide) {
    Args tiled = paths.tiles == TilePath::split ? split : whole;
    tiled.tiles = {pass.tiles, static_cast<int>(pass.shape.tile_rows)};
    pass.queue.launch(tiled, covered.prompt_tiles);
  }
  if (paths.decodes == DecodePath::whole) return;
  const RowCount rows = paths.tiles == TilePath::split ? pass.all_rows() : pass.decode_rows();
  pass.queue.launch(MergeSpansArgs{.in = whole.in,
                                   .row_count = rows.on_device,
                                   .partial = split.partial,
                                   .spans_max = split.spans_max},
                    rows.most);
}

}  // namespace forge::gpu
