// A tile of queries over a range of positions, segment after segment: what the attention kernels
// do, once they have said which queries, which positions, and where the result goes.
#pragma once

#include "attend_segment.cuh"

namespace FORGE_KERNELS {

/// Positions [first, end) of the context, from a multiple of kKeys on.
struct KeyRange {
  int first;
  int end;
};

/// The range from the segment in which query 0 sees its first key to the last query's last key.
template <int kMore>
FORGE_DEVICE KeyRange range_of(const QueryTile<kMore>& tile) {
  const int first = tile.first_of(0);
  return {first > 0 ? first / kKeys * kKeys : 0, tile.length_of(tile.count - 1)};
}

/// Calls write(query, d, sum, softmax) for each component of each query. A thread has a component
/// of up to kEach queries.
template <int kQueries, int kEach, int kMore, class Write>
FORGE_DEVICE void attend_range(const gpu::AttentionInput& in, const QueryTile<kMore>& tile,
                               const KeyRange& range, const TileMemory& memory,
                               const Write& write) {
  const Components own = components_of_thread(in.kv.head_size);
  stage_queries<kQueries>(tile, in.kv.head_size, memory);
  float totals[kEach] = {};
  for (int first = range.first; first < range.end; first += kKeys) {
    const KeySegment<kMore> segment{in, tile, first};
    sync_block();  // the queries are there, and the segment before is done with
    with_stored(in.kv.type,
                [&](auto stored) { compute_scores<decltype(stored), kQueries>(segment, memory); });
    sync_block();
    compute_weights(segment, memory);
    sync_block();
    if (own.first >= tile.count) continue;
    float sums[kEach];
    with_stored(in.kv.type, [&](auto stored) {
      accumulate_values<decltype(stored), kEach>(segment, own, memory, sums);
    });
    for (int n = 0; n < kEach; ++n) {
      const int query = own.first + n * own.step;
      if (query >= tile.count || !segment.is_seen_by(query)) continue;
      const OnlineSoftmax softmax = memory.softmax[query];
      totals[n] = segment.is_first_of(query) ? sums[n] : softmax.merged_sum(totals[n], sums[n]);
    }
  }
  for (int n = 0; n < kEach; ++n) {
    const int query = own.first + n * own.step;
    if (query >= tile.count) break;
    write(query, own.d, totals[n], memory.softmax[query]);
  }
}

/// Takes as few queries a thread as will do: the least kEach of 1, 2, ... kQueries.
template <int kQueries, int kEach, int kMore, class Write>
FORGE_DEVICE void attend_components(const gpu::AttentionInput& in, const QueryTile<kMore>& tile,
                                    const KeyRange& range, const TileMemory& memory,
                                    const Write& write) {
  if constexpr (kEach < kQueries) {
    if (threads() / in.kv.head_size * kEach < kQueries) {
      attend_components<kQueries, 2 * kEach>(in, tile, range, memory, write);
      return;
    }
  }
  attend_range<kQueries, kEach>(in, tile, range, memory, write);
}

/// Takes the smallest tile that holds the queries: the least kQueries of 1, 2, ... kQueriesMax.
template <int kQueriesMax, int kQueries = 1, int kMore, class Write>
FORGE_DEVICE void attend_tile(const gpu::AttentionInput& in, const QueryTile<kMore>& tile,
                              const KeyRange& range, const TileMemory& memory, const Write& write) {
  if constexpr (kQueries < kQueriesMax) {
    if (tile.count > kQueries) {
      attend_tile<kQueriesMax, 2 * kQueries>(in, tile, range, memory, write);
      return;
    }
  }
  attend_components<kQueries, 1>(in, tile, range, memory, write);
}

}  // namespace FORGE_KERNELS
