// How attention of fast numerics is launched (attention_path.h): decode rows, then tiles, whole or
// with their contexts split; then what was split is merged. What FastGroupedQuery and FastLatent
// share with the benchmark that measures attention by itself.
#pragma once

#include "attention_path.h"
#include "device_pass.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {

/// What the launches have to know of a pass.
struct SpanPass {
  const SlabShape& shape;
  const PassCounts* counts;
  const PromptTile* tiles;
  CommandQueue& queue;

  static SpanPass of(const DevicePass& pass) {
    return {pass.shape, pass.counts, pass.tiles, pass.queue};
  }
};

/// Queues attend_spans, or attend_latent_spans, whose arguments are `whole`, for the decode rows of
/// the pass and for its tiles, unless their path is `wide`: those are the caller's. partial: room
/// for what is split.
template <class Args>
void launch_spans(const SpanPass& pass, const SpanPaths& paths, const Args& whole, float* partial) {
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
  const bool are_all = paths.tiles == TilePath::split;
  pass.queue.launch(
      MergeSpansArgs{.in = whole.in,
                     .row_count = are_all ? &pass.counts->rows : &pass.counts->decode_rows,
                     .partial = split.partial,
                     .spans_max = split.spans_max},
      are_all ? covered.rows : covered.decode_rows);
}

/// Queues grouped-query attention, tiles by attend_wide if that is their path, the rest as `whole`.
inline void launch_grouped_spans(const SpanPass& pass, const SpanPaths& paths,
                                 const AttendSpansArgs& whole, float* partial) {
  launch_spans(pass, paths, whole, partial);
  if (pass.shape.counts.prompt_tiles == 0 || paths.tiles != TilePath::wide) return;
  const SpanTiles tiles{pass.tiles, static_cast<int>(pass.shape.tile_rows)};
  pass.queue.launch(AttendWideArgs{.in = whole.in, .tiles = tiles}, pass.shape.counts.prompt_tiles);
}

}  // namespace forge::gpu
