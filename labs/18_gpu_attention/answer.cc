// A tile of queries over a paged context on the simulated GPU: what attends to what, under the
// checker.
#define FORGE_SIMT_INSTRUMENTED 1
#include <cmath>

#include "attend_tile.cuh"
#include "forge/core/check.h"
#include "simulated_gpu.h"

namespace forge::labs {

/// Queries of a tile, and of how many of them a thread has a component where the lab says it.
inline constexpr int kTileQueries = 4;
inline constexpr int kEach = 2;

/// One tile, by one thread block.
struct TileArgs {
  gpu::AttentionInput in;
  const float* q;  ///< [count][D]
  float* softmax;  ///< [count][2]: m and l
  int more;        ///< positions that a query attends over beyond those of the one before: 0 or 1
  int count;
  int length;  ///< positions that query 0 attends over
  bool by_components;
};

}  // namespace forge::labs

namespace FORGE_KERNELS {

template <int kMore>
FORGE_DEVICE QueryTile<kMore> tile_of(const labs::TileArgs& a) {
  return {.q = global(a.q),
          .q_stride = a.in.kv.head_size,
          .count = a.count,
          .length = a.length,
          .reach = a.in.reach(),
          .table = 0,
          .kv_head = 0};
}

/// The result of a query, and its softmax.
struct WriteResults {
  gptr<float> out;
  gptr<float> softmax;
  int size;

  FORGE_DEVICE void operator()(int query, int d, float sum, const OnlineSoftmax& seen) const {
    out[query * size + d] = numerics::divide(sum, seen.l);
    if (d != 0) return;
    softmax[2 * query] = seen.m;
    softmax[2 * query + 1] = seen.l;
  }
};

template <int kMore>
FORGE_DEVICE void attend(const labs::TileArgs& a, const TileMemory& memory) {
  const QueryTile<kMore> tile = tile_of<kMore>(a);
  const WriteResults write{global(a.in.out), global(a.softmax), a.in.kv.head_size};
  const KeyRange range{tile.first_of(0) > 0 ? tile.first_of(0) / kKeys * kKeys : 0,
                       tile.length_of(tile.count - 1)};
  if (a.by_components) {
    attend_components<labs::kTileQueries, 1>(a.in, tile, range, memory, write);
  } else {
    attend_range<labs::kTileQueries, labs::kEach>(a.in, tile, range, memory, write);
  }
}

FORGE_KERNEL(kKeys) attend_one_tile(labs::TileArgs a) {
  SIMT_SHARED(float, queries, kQueryFloats<labs::kTileQueries>);
  SIMT_SHARED(float, weights, kWeightFloats<labs::kTileQueries>);
  SIMT_SHARED(std::int64_t, values, kKeys);
  SIMT_SHARED(OnlineSoftmax, softmax, labs::kTileQueries);
  if (a.more == 0) {
    attend<0>(a, {queries, weights, values, softmax});
  } else {
    attend<1>(a, {queries, weights, values, softmax});
  }
}

}  // namespace FORGE_KERNELS

namespace forge::labs {
namespace {

using kernels::instrumented::kKeys;

/// As cases.py has it. Keys, values and queries are made up.
TileArgs tile_args(const Json& input) {
  TileArgs a{};
  a.count = whole(input, "queries");
  a.more = whole(input, "more");
  a.length = whole(input, "length");
  a.in.window = whole(input, "window");
  FORGE_CHECK(a.count >= 1 && a.count <= kTileQueries, "queries ", a.count);
  FORGE_CHECK(a.length >= 1 && a.in.window >= 0, "length ", a.length, " window ", a.in.window);
  return a;
}

/// The memory of a tile: blocks of KV that lie in the pool from the last to the first.
void fill(TileArgs& a, int size, int block_size, DeviceMemory& memory) {
  FORGE_CHECK(size >= 1 && size <= kKeys && block_size >= 1, "size ", size, " block ", block_size);
  const int positions = a.length + (a.count - 1) * a.more;
  const int blocks = gpu::ceil_div(positions, block_size);
  std::vector<std::uint32_t> table;
  for (int i = blocks; i > 0; --i) table.push_back(static_cast<std::uint32_t>(i - 1));
  gpu::KvLayer& kv = a.in.kv;
  kv.pool = memory.put("pool", made_up(blocks * 2 * size * block_size, 1));
  kv.block_stride = static_cast<std::uint64_t>(2 * size * block_size);
  kv.tables = memory.put("tables", table);
  kv.table_stride = static_cast<std::uint32_t>(blocks);
  kv.block_size = block_size;
  kv.kv_heads = 1;
  kv.group_size = a.count;
  kv.head_size = size;
  a.in.scale = 0.2f / std::sqrt(static_cast<float>(size));
  a.q = memory.put("q", made_up(a.count * size, 2));
  a.in.out = memory.put("out", std::vector<float>(static_cast<std::size_t>(a.count * size)));
  a.softmax = memory.put("results", std::vector<float>(static_cast<std::size_t>(a.count * 2)));
}

Lines play(const Json& input, bool by_components) {
  DeviceMemory memory;
  TileArgs a = tile_args(input);
  a.by_components = by_components;
  const int size = whole(input, "head_size");
  FORGE_CHECK(by_components || kKeys / size * kEach >= kTileQueries, "head size ", size);
  fill(a, size, whole(input, "block_size"), memory);
  const Launched launched = launch(by_components ? "attend_components" : "attend_range",
                                   FORGE_KERNEL_ENTRY(kernels::instrumented::attend_one_tile),
                                   {{1, 1, 1}, kKeys}, &a, memory);
  if (!launched.fault.empty()) return {launched.fault};
  Lines lines;
  for (int query = 0; query < a.count; ++query) {
    const std::string of_query = "query " + std::to_string(query) + ", ";
    lines.push_back(of_query + "m: " + value_and_bits(a.softmax[2 * query]));
    lines.push_back(of_query + "l: " + value_and_bits(a.softmax[2 * query + 1]));
    for (int d = 0; d < size; ++d) {
      lines.push_back(of_query + "component " + std::to_string(d) + ": " +
                      value_and_bits(a.in.out[query * size + d]));
    }
  }
  if (by_components) {
    lines.push_back("reads of shared memory: " +
                    std::to_string(launched.sum(&simt::LineTraffic::requests, simt::Space::shared,
                                                simt::AccessKind::read)));
  }
  return lines;
}

Lines attend_range(const Json& input) { return play(input, false); }
Lines attend_components(const Json& input) { return play(input, true); }

/// The same members but for sizes -> the range.
Lines range_of(const Json& input) {
  const TileArgs a = tile_args(input);
  const kernels::instrumented::KeyRange range =
      a.more == 0 ? kernels::instrumented::range_of(kernels::instrumented::tile_of<0>(a))
                  : kernels::instrumented::range_of(kernels::instrumented::tile_of<1>(a));
  return {"from " + std::to_string(range.first) + " to before " + std::to_string(range.end)};
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"range_of", in_lines(range_of)},
          {"attend_range", in_lines(attend_range)},
          {"attend_components", in_lines(attend_components)}};
}

}  // namespace forge::labs
