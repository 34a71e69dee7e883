// The steps of attention over latents on the simulated GPU: what they leave in shared memory, and
// what they ask of both memories.
#define FORGE_SIMT_INSTRUMENTED 1
#include <charconv>
#include <string_view>

#include "forge/core/check.h"
#include "latent_tile.cuh"
#include "simulated_gpu.h"

namespace forge::labs {

/// Heads of a tile.
inline constexpr int kHeads = 4;
/// What shared memory has before a step writes to it.
inline constexpr float kBefore = 99.0f;

/// One tile and one segment of it.
struct SegmentArgs {
  gpu::LatentAttentionInput in;
  int count;             ///< heads that the tile has
  int first;             ///< position of the segment, a multiple of kKeys
  int end;               ///< of the context
  int component;         ///< the first that is copied
  int size;              ///< how many are
  const float* weights;  ///< [kHeads][kKeys], which sum_latents finds in shared memory
  float* result;         ///< as each kernel has it
};

}  // namespace forge::labs

namespace FORGE_KERNELS {

inline constexpr int kSomeThreads = 64;  // of the kernels for which any number will do

FORGE_DEVICE LatentTile tile_of(const labs::SegmentArgs& a) {
  return {.q = global(a.in.queries),
          .q_stride = a.in.latents.row_size(),
          .count = a.count,
          .begin = 0,
          .end = a.end,
          .table = 0};
}

FORGE_DEVICE void fill(sptr<float> to, int count, float value) {
  for (int i = thread(); i < count; i += threads()) to[i] = value;
}
FORGE_DEVICE void give(gptr<float> to, sptr<const float> from, int count) {
  for (int i = thread(); i < count; i += threads()) to[i] = from[i];
}

/// Where the rows of the first positions of the segment lie, as score_latents puts them there.
FORGE_DEVICE void find_rows(const labs::SegmentArgs& a, const LatentSegment& segment,
                            sptr<std::int64_t> rows) {
  for (int j = thread(); j < segment.size(); j += threads()) {
    rows[j] = row_of(a.in.latents, segment.tile.table, segment.first + j);
  }
}

/// result: [kSomeThreads][kCopiedStride], a row a position.
FORGE_KERNEL(kSomeThreads) copy_rows_alone(labs::SegmentArgs a) {
  SIMT_SHARED(float, copied, (kSomeThreads * kCopiedStride));
  SIMT_SHARED(std::int64_t, rows, kKeys);
  const LatentTile tile = tile_of(a);
  const LatentSegment segment{tile, a.first};
  fill(copied, kSomeThreads * kCopiedStride, labs::kBefore);
  find_rows(a, segment, rows);
  sync_block();
  const LatentMemory memory{nullptr, copied, nullptr, rows, nullptr};
  with_stored(a.in.latents.type, [&](auto stored) {
    copy_rows(numbers_of<const decltype(stored)>(a.in.latents), segment, a.component, a.size,
              memory);
  });
  sync_block();
  give(global(a.result), copied, kSomeThreads * kCopiedStride);
}

/// result: [kStripSize][kQueryStride], a row a component.
FORGE_KERNEL(kSomeThreads) stage_strip_alone(labs::SegmentArgs a) {
  SIMT_SHARED(float, queries, (kStripSize * kQueryStride));
  fill(queries, kStripSize * kQueryStride, labs::kBefore);
  sync_block();
  stage_strip<labs::kHeads>(tile_of(a), a.component, a.size, queries);
  sync_block();
  give(global(a.result), queries, kStripSize * kQueryStride);
}

/// result: [kHeads][kKeys], scores, and then [kKeys], the rows.
FORGE_KERNEL(kKeys) score_latents_alone(labs::SegmentArgs a) {
  SIMT_SHARED(float, queries, (kStripSize * kQueryStride));
  SIMT_SHARED(float, copied, (kKeys * kCopiedStride));
  SIMT_SHARED(float, weights, (labs::kHeads * kKeys));
  SIMT_SHARED(std::int64_t, rows, kKeys);
  const LatentTile tile = tile_of(a);
  const LatentSegment segment{tile, a.first};
  fill(weights, labs::kHeads * kKeys, labs::kBefore);
  rows[thread()] = -1;
  sync_block();
  const LatentMemory memory{queries, copied, weights, rows, nullptr};
  with_stored(a.in.latents.type, [&](auto stored) {
    score_latents<decltype(stored), labs::kHeads>(a.in, segment, memory);
  });
  sync_block();
  const gptr<float> result = global(a.result);
  give(result, weights, labs::kHeads * kKeys);
  result[labs::kHeads * kKeys + thread()] = static_cast<float>(rows[thread()]);
}

/// result: [kHeads][C].
FORGE_KERNEL(kSomeThreads) sum_latents_alone(labs::SegmentArgs a) {
  SIMT_SHARED(float, weights, (labs::kHeads * kKeys));
  SIMT_SHARED(std::int64_t, rows, kKeys);
  const LatentTile tile = tile_of(a);
  const LatentSegment segment{tile, a.first};
  find_rows(a, segment, rows);
  for (int i = thread(); i < labs::kHeads * kKeys; i += threads()) {
    weights[i] = global(a.weights)[i];
  }
  sync_block();
  const LatentMemory memory{nullptr, nullptr, weights, rows, nullptr};
  const int C = a.in.latents.latent_size;
  for (int d = thread(); d < C; d += threads()) {
    float sums[labs::kHeads];
    with_stored(a.in.latents.type, [&](auto stored) {
      sum_latents(numbers_of<const decltype(stored)>(a.in.latents), segment, d, memory, sums);
    });
    for (int n = 0; n < labs::kHeads; ++n) global(a.result)[n * C + d] = sums[n];
  }
}

}  // namespace FORGE_KERNELS

namespace forge::labs {
namespace {

using namespace kernels::instrumented;
using simt::AccessKind;
using simt::LineTraffic;
using simt::Space;

/// As many floats as the largest result has: scores and rows, a strip, copied rows.
constexpr int kResults = (kHeads + 1) * kKeys;
static_assert(kResults >= kStripSize * kQueryStride && kResults >= kSomeThreads * kCopiedStride);

/// What the lines of the student's file count.
std::uint64_t of_file(const Launched& launched, std::uint64_t LineTraffic::*count, Space space,
                      AccessKind kind) {
  std::uint64_t total = 0;
  for (const LineTraffic& line : launched.traffic.lines) {
    const bool is_ours = std::string_view(line.site.file).ends_with("latent_tile.cuh");
    if (is_ours && line.space == space && line.kind == kind) total += line.*count;
  }
  return total;
}

void add_counts(const Launched& launched, Lines& lines) {
  lines.push_back("sectors read: " + std::to_string(of_file(launched, &LineTraffic::sectors,
                                                            Space::global, AccessKind::read)));
  lines.push_back("wavefronts written: " +
                  std::to_string(of_file(launched, &LineTraffic::wavefronts, Space::shared,
                                         AccessKind::write)));
}

std::vector<numerics::BF16> rounded(const std::vector<float>& values) {
  std::vector<numerics::BF16> stored;
  for (const float x : values) stored.push_back(numerics::to_bf16(x));
  return stored;
}

/// As cases.py has it: {"type", "heads", "first", "end", "latent", "rope", "block_size",
/// "component", "size"}. Blocks lie in the pool from the last to the first.
SegmentArgs segment_args(const Json& input, DeviceMemory& memory) {
  SegmentArgs a{};
  a.count = whole(input, "heads");
  a.first = whole(input, "first");
  a.end = whole(input, "end");
  a.component = whole(input, "component");
  a.size = whole(input, "size");
  gpu::LatentLayer& latents = a.in.latents;
  latents.latent_size = whole(input, "latent");
  latents.rope_size = whole(input, "rope");
  latents.block_size = whole(input, "block_size");
  const int D = latents.row_size();
  FORGE_CHECK(a.count >= 1 && a.count <= kHeads, "heads ", a.count);
  FORGE_CHECK(a.first >= 0 && a.first % kKeys == 0 && a.first < a.end, "positions ", a.first);
  FORGE_CHECK(latents.latent_size >= 1 && latents.rope_size >= 0, "components ", D);
  FORGE_CHECK(latents.latent_size <= kResults / kHeads, "components ", D);
  FORGE_CHECK(latents.block_size >= 1 && a.end <= 4 * kKeys, "positions ", a.end);
  FORGE_CHECK(a.component >= 0 && a.size >= 1 && a.component + a.size <= D, "copied ", a.size);
  const int blocks = gpu::ceil_div(a.end, latents.block_size);
  std::vector<std::uint32_t> table;
  for (int i = blocks; i > 0; --i) table.push_back(static_cast<std::uint32_t>(i - 1));
  latents.block_stride = static_cast<std::uint64_t>(latents.block_size * D);
  latents.tables = memory.put("tables", table);
  latents.table_stride = static_cast<std::uint32_t>(blocks);
  const std::vector<float> rows = made_up(blocks * latents.block_size * D, 1);
  if (input.at("type") == "bf16") {
    latents.type = numerics::KvType::bf16;
    latents.pool = memory.put("pool", rounded(rows));
  } else {
    latents.pool = memory.put("pool", rows);
  }
  a.in.queries = memory.put("q", made_up(a.count * D, 2));
  a.in.heads = a.count;
  a.in.scale = 0.125f;
  return a;
}

/// "position 3: 1.5 -2".
std::string row_line(const char* of, int index, const float* values, int count) {
  std::string line = of + std::to_string(index) + ":";
  for (int i = 0; i < count; ++i) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, values[i]);
    line.append(" ").append(text, end);
  }
  return line;
}

/// Launches a step on the segment of a case. Returns: the lines of what is in a.result then, or the
/// checker's fault.
Lines play(const Json& input, const char* name, simt::Entry entry, int threads,
           Lines (*lines_of)(const SegmentArgs& a, const Launched& launched)) {
  DeviceMemory memory;
  SegmentArgs a = segment_args(input, memory);
  std::vector<float> weights = made_up(kHeads * kKeys, 3);
  for (float& w : weights) w = (w + 5.0f) / 10.0f;
  a.weights = memory.put("weights", weights);
  a.result = memory.put("result", std::vector<float>(kResults));
  const Launched launched = launch(name, entry, {{1, 1, 1}, threads}, &a, memory);
  return launched.fault.empty() ? lines_of(a, launched) : Lines{launched.fault};
}

Lines copied_rows(const SegmentArgs& a, const Launched& launched) {
  FORGE_CHECK(a.size <= kCopiedSize, "copied ", a.size);
  Lines lines;
  for (int j = 0; j < kSomeThreads; ++j) {
    lines.push_back(row_line("position ", a.first + j, a.result + j * kCopiedStride, a.size));
  }
  add_counts(launched, lines);
  return lines;
}

Lines staged_strip(const SegmentArgs& a, const Launched& launched) {
  FORGE_CHECK(a.size <= kStripSize, "copied ", a.size);
  Lines lines;
  for (int d = 0; d < a.size; ++d) {
    lines.push_back(row_line("component ", a.component + d, a.result + d * kQueryStride, kHeads));
  }
  add_counts(launched, lines);
  return lines;
}

Lines scores(const SegmentArgs& a, const Launched&) {
  Lines lines;
  for (int j = 0; j < kKeys && a.first + j < a.end; ++j) {
    const std::string of_position = "position " + std::to_string(a.first + j) + ", ";
    lines.push_back(of_position + "row at " +
                    std::to_string(static_cast<int>(a.result[kHeads * kKeys + j])));
    for (int n = 0; n < a.count; ++n) {
      lines.push_back(of_position + "head " + std::to_string(n) + ": " +
                      value_and_bits(a.result[n * kKeys + j]));
    }
  }
  return lines;
}

Lines sums(const SegmentArgs& a, const Launched& launched) {
  Lines lines;
  const int C = a.in.latents.latent_size;
  for (int n = 0; n < kHeads; ++n) {
    for (int d = 0; d < C; ++d) {
      lines.push_back("head " + std::to_string(n) + ", component " + std::to_string(d) + ": " +
                      value_and_bits(a.result[n * C + d]));
    }
  }
  add_counts(launched, lines);
  return lines;
}

Lines copy_rows(const Json& input) {
  return play(input, "copy_rows", FORGE_KERNEL_ENTRY(kernels::instrumented::copy_rows_alone),
              kSomeThreads, copied_rows);
}
Lines stage_strip(const Json& input) {
  return play(input, "stage_strip", FORGE_KERNEL_ENTRY(kernels::instrumented::stage_strip_alone),
              kSomeThreads, staged_strip);
}
Lines score_latents(const Json& input) {
  return play(input, "score_latents",
              FORGE_KERNEL_ENTRY(kernels::instrumented::score_latents_alone), kKeys, scores);
}
Lines sum_latents(const Json& input) {
  return play(input, "sum_latents", FORGE_KERNEL_ENTRY(kernels::instrumented::sum_latents_alone),
              kSomeThreads, sums);
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"copy_rows", in_lines(copy_rows)},
          {"stage_strip", in_lines(stage_strip)},
          {"score_latents", in_lines(score_latents)},
          {"sum_latents", in_lines(sum_latents)}};
}

}  // namespace forge::labs
