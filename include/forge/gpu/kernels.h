// The kernels of the reference model: their names, their arguments and how they are launched. Host
// code and kernel code share this page; the kernels are in cuda/kernels/, one file each.
//
// Each kernel takes one struct of plain values and device pointers, and is launched with the shape
// that the struct's shape() gives; kThreads is the most threads a block can have. Row counts are
// read from device memory, so that a launch captured in a graph for a bucket of rows serves every
// smaller number: blocks of rows beyond the count return at once.
//
// All arithmetic is the canonical fp32 tier (numerics/canonical.h, numerics/attention.h): each
// output has the bits of the CPU's, whatever the launch shape.
//
// Legend: T rows of a pass, R of them with logits, V vocabulary, d hidden size, H query heads, Hkv
// KV heads, G = H / Hkv, D head size, F feed-forward size, S block size (slots), K and N inputs and
// outputs of a product. Panels: linear/panels.h. Blocks of KV: model/kv_pool.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "forge/linear/panels.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/shape.h"

namespace forge::gpu {

// ---- What a step brings to the device -----------------------------------------------------------

/// One row of a pass: a token at a position of a sequence.
struct alignas(16) RowInput {
  std::uint32_t token = 0;
  std::int32_t draft = kNoDraft;  ///< if not kNoDraft, the token is drafts[draft] instead
  std::uint32_t position = 0;
  std::uint32_t table = 0;  ///< row of the block tables

  static constexpr std::int32_t kNoDraft = -1;
};

/// A row whose logits are wanted, and how a token is picked from them.
struct alignas(16) LogitInput {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;               ///< of the token that is picked
  std::uint32_t row = 0;                    ///< of the pass
  std::int32_t draft = RowInput::kNoDraft;  ///< where the pick goes as a draft, if anywhere
  std::uint32_t pick = 0;  ///< where pick and digest go: picks[pick], digests[pick]
  float temperature = 0;
};

/// Consecutive rows of one sequence that attend together: rows first .. first + count - 1 of the
/// pass, at consecutive positions. At most kMaxRows.
struct PromptTile {
  static constexpr int kMaxRows = 8;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Set tables[table][index] to block.
struct TableWrite {
  std::uint32_t table = 0;
  std::uint32_t index = 0;
  std::uint32_t block = 0;
};

struct BlockPair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// The numbers of one pass, in device memory.
struct alignas(16) PassCounts {
  std::uint32_t rows = 0;
  std::uint32_t logit_rows = 0;
  std::uint32_t decode_rows = 0;  ///< leading rows, each the only one of its sequence
  std::uint32_t prompt_tiles = 0;
};

// ---- Kernels ------------------------------------------------------------------------------------

enum class KernelId : std::uint8_t {
  update_tables,
  copy_blocks,
  embed,
  rms_norm,
  project,
  rotate_and_store,
  attend_decode,
  attend_split,
  attend_merge,
  attend_prompt,
  silu_multiply,
  sample,
  digest_logits,
};
inline constexpr std::array<std::string_view, 13> kKernelNames{
    "update_tables",    "copy_blocks",   "embed",        "rms_norm",     "project",
    "rotate_and_store", "attend_decode", "attend_split", "attend_merge", "attend_prompt",
    "silu_multiply",    "sample",        "digest_logits"};
constexpr std::string_view name(KernelId kernel) {
  return kKernelNames[static_cast<std::size_t>(kernel)];
}

FORGE_HOST_DEVICE constexpr int ceil_div(int n, int divisor) { return (n + divisor - 1) / divisor; }

/// Threads for `items` things to do: whole warps, at least one, at most `max`.
constexpr int threads_for(int items, int max) {
  const int threads = ceil_div(items, simt::kWarpSize) * simt::kWarpSize;
  return threads < max ? threads : max;
}

/// tables[w.table][w.index] = w.block for each write.
struct UpdateTablesArgs {
  static constexpr KernelId kId = KernelId::update_tables;
  static constexpr int kThreads = 128;
  const TableWrite* writes;    ///< [*count]
  const std::uint32_t* count;  ///< of writes
  std::uint32_t* tables;       ///< [max_batch_size][table_stride]
  std::uint32_t table_stride;

  static simt::LaunchShape shape(int writes_max) {
    return {{ceil_div(writes_max, kThreads), 1, 1}, kThreads};
  }
};

/// target[pair.to] = source[pair.from], whole blocks of KV, all at once: no pair may write what
/// another reads or writes. Either pool may be pinned host memory.
struct CopyBlocksArgs {
  static constexpr KernelId kId = KernelId::copy_blocks;
  static constexpr int kThreads = 256;
  static constexpr int kPiecesMax = 64;  ///< thread blocks that share a pair
  const BlockPair* pairs;
  const float* source;
  float* target;
  std::uint64_t block_floats;  ///< a multiple of 4, as 2 D is

  simt::LaunchShape shape(int pair_count) const {
    const std::uint64_t pieces = (block_floats / 4 + kThreads - 1) / kThreads;
    return {{pair_count, pieces < kPiecesMax ? static_cast<int>(pieces) : kPiecesMax, 1}, kThreads};
  }
};

/// hidden [T][d] = embedding rows of the tokens. A thread moves 4 floats.
struct EmbedArgs {
  static constexpr KernelId kId = KernelId::embed;
  static constexpr int kThreads = 128;
  const PassCounts* counts;
  const RowInput* rows;         ///< [T]
  const std::uint32_t* drafts;  ///< tokens that RowInput::draft refers to
  const float* embedding;       ///< [V][d]
  float* hidden;                ///< [T][d]
  int hidden_size;              ///< d

  simt::LaunchShape shape(int rows_max) const {
    const int quads = ceil_div(hidden_size, 4);
    return {{rows_max, ceil_div(quads, kThreads), 1}, threads_for(quads, kThreads)};
  }
};

/// y[i] = rms_norm(x[row i]): numerics/vector_ops.h. Of the rows in order or, if `logits` is given,
/// of logits[i].row. A warp a row: its 32 lanes are those of the definition.
struct RmsNormArgs {
  static constexpr KernelId kId = KernelId::rms_norm;
  static constexpr int kThreads = 32;
  const PassCounts* counts;
  const LogitInput* logits;  ///< [R] or null
  const float* x;            ///< [T][d]
  const float* weight;       ///< [d]
  float* y;                  ///< [T or R][d]
  int size;                  ///< d
  float eps;

  static simt::LaunchShape shape(int rows_max) { return {{rows_max, 1, 1}, kThreads}; }
};

/// y = x W^T, or y += x W^T: each element is product_reference. A block computes one panel (a lane
/// an output) for kTileRows rows; its warps deal out the chunks of K among themselves.
struct ProjectArgs {
  static constexpr KernelId kId = KernelId::project;
  static constexpr int kThreads = 256;
  static constexpr int kTileRows = 8;
  const std::uint32_t* row_count;  ///< rows of x: &counts->rows or &counts->logit_rows
  const float* x;                  ///< [rows][K]
  const float* panels;             ///< [ceil(N / 32)][K][32]
  float* y;                        ///< [rows][N]
  int inputs;                      ///< K, at least 1
  int outputs;                     ///< N
  bool accumulate;                 ///< add to y, which is a residual stream

  simt::LaunchShape shape(int rows_max) const {
    constexpr int kPanelsY = 1 << 15;  // along y, which ends at 65535; further panels along z
    const int chunks = ceil_div(inputs, numerics::kProductChunk);
    const int blocks = ceil_div(outputs, linear::kPanelOutputs);  // for each tile of rows
    return {{ceil_div(rows_max, kTileRows), blocks < kPanelsY ? blocks : kPanelsY,
             ceil_div(blocks, kPanelsY)},
            threads_for(chunks * simt::kWarpSize, kThreads)};
  }
};

/// Where a layer's KV lies: pool + block * block_stride + plane(head), as model/kv_pool.h.
struct KvLayer {
  float* pool;                 ///< of this layer: the pool's start + layer * 2 Hkv D S
  std::uint64_t block_stride;  ///< floats of a block, all layers
  const std::uint32_t* tables;
  std::uint32_t table_stride;
  int block_size;  ///< S
  int kv_heads;    ///< Hkv
  int group_size;  ///< G
  int head_size;   ///< D

  FORGE_HOST_DEVICE int heads() const { return kv_heads * group_size; }
};

/// Rotates queries in place (rotate_pairs), and writes keys, rotated, and values to the pool. The
/// keys and values in qkv stay as they are. A warp a head.
struct RotateAndStoreArgs {
  static constexpr KernelId kId = KernelId::rotate_and_store;
  static constexpr int kThreads = 32;
  const PassCounts* counts;
  const RowInput* rows;
  const float* rotary;  ///< [positions][2][D / 2]: cosines, sines
  float* qkv;           ///< [T][(H + 2 Hkv) D]
  KvLayer kv;

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, kv.heads() + 2 * kv.kv_heads, 1}, kThreads};
  }
};

/// What the attention kernels share. A row at position p attends over positions 0 .. p.
struct AttentionInput {
  const PassCounts* counts;
  const RowInput* rows;
  const float* qkv;  ///< [T][(H + 2 Hkv) D], rotated
  float* out;        ///< [T][H D]
  KvLayer kv;
  float scale;
};

/// Query heads of one row that go through the keys of their KV head together: up to kTileHeads.
inline constexpr int kTileHeads = 4;

/// Such tiles of a row.
FORGE_HOST_DEVICE constexpr int head_tiles(const KvLayer& kv) {
  return kv.kv_heads * ceil_div(kv.group_size, kTileHeads);
}

/// Batched decode: rows 0 .. decode_rows - 1, each over its whole context, chunk after chunk.
struct AttendDecodeArgs {
  static constexpr KernelId kId = KernelId::attend_decode;
  static constexpr int kThreads = numerics::kKeyChunk;  ///< a thread a key of the chunk
  AttentionInput in;

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, head_tiles(in.kv), 1}, kThreads};
  }
};

/// Single decode, split-K: a block a chunk of 256 keys, so that one long context fills the device.
/// Blocks of chunks that a row does not have return at once.
struct AttendSplitArgs {
  static constexpr KernelId kId = KernelId::attend_split;
  static constexpr int kThreads = numerics::kKeyChunk;
  AttentionInput in;
  float* partial;  ///< [decode rows][H][chunks_max][D + 2]: a, m, l of each chunk
  int chunks_max;  ///< of the longest context

  simt::LaunchShape shape(int rows_max) const {
    return {{chunks_max, head_tiles(in.kv), rows_max}, kThreads};
  }
};
/// Merges the chunks of attend_split in ascending order. A thread a component.
struct AttendMergeArgs {
  static constexpr KernelId kId = KernelId::attend_merge;
  static constexpr int kThreads = numerics::kHeadSizeMax;
  AttentionInput in;
  const float* partial;  ///< of AttendSplitArgs
  int chunks_max;        ///< likewise

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, in.kv.heads(), 1}, threads_for(in.kv.head_size, kThreads)};
  }
};

/// Prompt chunks and drafts to verify: a tile of consecutive rows shares each chunk of keys.
struct AttendPromptArgs {
  static constexpr KernelId kId = KernelId::attend_prompt;
  static constexpr int kThreads = numerics::kKeyChunk;
  AttentionInput in;
  const PromptTile* tiles;

  simt::LaunchShape shape(int tiles_max) const { return {{tiles_max, in.kv.heads(), 1}, kThreads}; }
};

/// gated [T][F] = silu(gate) * up. A thread makes 4 floats.
struct SiluMultiplyArgs {
  static constexpr KernelId kId = KernelId::silu_multiply;
  static constexpr int kThreads = 128;
  const PassCounts* counts;
  const float* gate_up;  ///< [T][2 F]
  float* gated;          ///< [T][F]
  int size;              ///< F

  simt::LaunchShape shape(int rows_max) const {
    const int quads = ceil_div(size, 4);
    return {{rows_max, ceil_div(quads, kThreads), 1}, threads_for(quads, kThreads)};
  }
};

/// picks[l.pick] = pick(logits[i], l) for each logit row i: sampling/sampler.h, greedy at
/// temperature 0, Gumbel above. Also to drafts[l.draft]. A row of which can_pick() is false has
/// kNoPick, and as draft, which is run like any other, token 0. A block a row.
struct SampleArgs {
  static constexpr KernelId kId = KernelId::sample;
  static constexpr int kThreads = 1024;
  static constexpr std::uint32_t kNoPick = 0xffffffff;
  const PassCounts* counts;
  const LogitInput* inputs;  ///< [R]
  const float* logits;       ///< [R][V]
  std::uint32_t* picks;
  std::uint32_t* drafts;
  int vocabulary;  ///< V

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, 1, 1}, threads_for(ceil_div(vocabulary, 4), kThreads)};
  }
};

/// digests[l.pick] = logits_digest(logits[i]) (executor/logits_digest.h). A warp a row.
struct DigestLogitsArgs {
  static constexpr KernelId kId = KernelId::digest_logits;
  static constexpr int kThreads = 32;
  const PassCounts* counts;
  const LogitInput* inputs;
  const float* logits;
  std::uint64_t* digests;
  int vocabulary;

  static simt::LaunchShape shape(int rows_max) { return {{rows_max, 1, 1}, kThreads}; }
};

// ---- Launches -----------------------------------------------------------------------------------

/// One launch, by value: the arguments are copied in.
struct KernelLaunch {
  static constexpr std::size_t kArgsMax = 160;

  KernelId kernel = KernelId::embed;
  simt::LaunchShape shape;
  alignas(16) std::array<std::byte, kArgsMax> args{};
};

/// The launch of a kernel in a shape of Args::shape(). Requires: no dimension of the grid is 0.
template <class Args>
KernelLaunch launch_of(const Args& args, const simt::LaunchShape& shape) {
  static_assert(sizeof(Args) <= KernelLaunch::kArgsMax && std::is_trivially_copyable_v<Args>);
  KernelLaunch launch{.kernel = Args::kId, .shape = shape};
  std::memcpy(launch.args.data(), &args, sizeof args);
  return launch;
}

}  // namespace forge::gpu
