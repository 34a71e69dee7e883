// The formulas of all kernels but those of products, of attention, of experts and of fast numerics,
// each after its source in cuda/kernels.
#include "forge/sim/kernel_work.h"

#include <bit>
#include <set>
#include <span>

#include "forge/numerics/canonical.h"
#include "forge/sampling/mask.h"
#include "kernel_chain.h"

namespace forge::sim {

using gpu::KernelLaunch;

KernelWork work(const gpu::UpdateTablesArgs& args, const KernelLaunch& launch) {
  const std::uint64_t writes =
      std::min(std::uint64_t{*args.count}, blocks_of(launch) * threads_of(launch));
  const std::uint64_t read = writes * sizeof(gpu::TableWrite);
  KernelWork w;
  w.bytes_read = kWord + read;
  w.bytes_written = writes * kWord;
  w.block_bytes = blocks_of(launch) * kWord + read + w.bytes_written;
  w.chain_loads = 2;
  return w;
}

KernelWork work(const gpu::CopyBlocksArgs& args, const KernelLaunch& launch) {
  const std::uint64_t pairs = size_of(launch.shape.grid.x);
  const std::uint64_t bytes = pairs * args.block_bytes;
  const std::uint64_t threads = size_of(launch.shape.grid.y) * threads_of(launch);
  KernelWork w;
  w.bytes_read = pairs * sizeof(gpu::BlockPair) + bytes;
  w.bytes_written = bytes;
  w.block_bytes = blocks_of(launch) * sizeof(gpu::BlockPair) + 2 * bytes;
  const std::uint64_t at_once = args.block_bytes % 16 == 0 ? 16 : 2;
  w.chain_loads = 1 + chain::turns(args.block_bytes / at_once, threads);
  return w;
}

namespace {

/// Of a row: floats as they are stored, or an output of a panel of codes.
std::uint64_t embedding_bytes(int hidden_size, linear::PanelKind kind) {
  if (linear::has_codes(kind)) {
    return panel_bytes_read(hidden_size, kind) / size_of(linear::kPanelOutputs);
  }
  return size_of(hidden_size) * (kind == linear::PanelKind::f32 ? kFloat : kFloat / 2);
}

}  // namespace

KernelWork work(const gpu::EmbedArgs& args, const KernelLaunch& launch) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t pieces = size_of(launch.shape.grid.y);
  const std::uint64_t row_bytes = size_of(args.hidden_size) * kFloat;
  const std::uint64_t stored_bytes = embedding_bytes(args.hidden_size, args.kind);
  std::uint64_t drafts = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    drafts += args.rows[r].draft != gpu::RowInput::kNoDraft ? 1 : 0;
  }
  KernelWork w;
  w.bytes_read = rows * (kRow + stored_bytes) + drafts * kWord;
  w.bytes_written = rows * row_bytes;
  w.block_bytes = pieces * (rows * kRow + drafts * kWord) + rows * (stored_bytes + row_bytes);
  w.flops = rows * size_of(args.hidden_size);
  w.chain_loads = 3 + (drafts > 0 ? 1 : 0);
  return w;
}

KernelWork work(const gpu::RmsNormArgs& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kInFlight = 16;
  constexpr std::uint64_t kUnrolled = 4;  // by nvcc
  const bool some = args.logits != nullptr;
  const std::uint64_t rows =
      present(launch.shape.grid.x, some ? args.counts->logit_rows : args.counts->rows);
  const std::uint64_t size = size_of(args.size);
  const std::uint64_t bytes = size * kFloat;  // of a vector
  const std::uint64_t vectors = rows * size_of(args.groups);
  const std::uint64_t index = some ? sizeof(gpu::LogitInput) : 0;
  const std::uint64_t streams = args.accumulate ? 2 : 1;  // y, read or not
  KernelWork w;
  w.bytes_read = rows * index + streams * vectors * bytes + (rows > 0 ? bytes : 0);
  w.bytes_written = vectors * bytes;
  w.block_bytes = vectors * (index + (2 + streams) * bytes);
  w.flops = vectors * 5 * size;
  const std::uint64_t each = chain::turns(size, threads_of(launch));
  const std::uint64_t weights = chain::turns(each, kUnrolled);
  w.chain_loads =
      1 + (some ? 1 : 0) + each / kInFlight + chain::turns(each % kInFlight, kUnrolled) + weights;
  w.chain_operations = each + chain::kWarpTree + 2 * chain::kDivide + chain::kSquareRoot + each * 3;
  return w;
}

KernelWork work(const gpu::RotateAndStoreArgs& args, const KernelLaunch& launch) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t head_bytes = size_of(args.kv.head_size) * kFloat;
  const std::uint64_t stored_bytes = size_of(args.kv.head_size) * bytes_of(args.kv.type);
  const std::uint64_t turned_bytes = size_of(args.rotary_size) * kFloat;  // of a head
  const std::uint64_t query_heads = size_of(args.kv.heads());
  const std::uint64_t key_heads = size_of(args.kv.kv_heads);
  const std::uint64_t rotated = query_heads + key_heads;
  const std::uint64_t heads = rotated + key_heads;
  const std::uint64_t turned = query_heads * turned_bytes;  // of a row
  const std::uint64_t read = turned + 2 * key_heads * head_bytes;
  const std::uint64_t written = turned + 2 * key_heads * stored_bytes;
  KernelWork w;
  std::set<std::uint32_t> positions;  // that share cosines and sines
  for (std::uint64_t r = 0; r < rows; ++r) positions.insert(args.rows[r].position);
  w.bytes_read = rows * (kRow + read + kWord) + positions.size() * turned_bytes;
  w.bytes_written = rows * written;
  w.block_bytes =
      rows * (heads * kRow + read + written + rotated * turned_bytes + 2 * key_heads * kWord);
  w.flops = rows * rotated * size_of(args.rotary_size) * 3;
  w.chain_loads = 4;
  w.chain_operations = 2 * chain::turns(size_of(args.rotary_size) / 2, threads_of(launch));
  return w;
}

/// fp32 operations of a gated linear unit beside its exponential; comparisons of a clamp are some.
std::uint64_t operations_of(gpu::GluFunction::Kind kind) {
  using Kind = gpu::GluFunction::Kind;
  return kind == Kind::silu ? 3 : kind == Kind::gelu_tanh ? 6 : 8;
}

KernelWork work(const gpu::GluArgs& args, const KernelLaunch& launch) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t values = rows * size_of(args.size);
  KernelWork w;
  w.bytes_read = 2 * values * kFloat;
  w.bytes_written = values * kFloat;
  w.block_bytes = 3 * values * kFloat;
  const std::uint64_t others = operations_of(args.function.kind);
  w.flops = values * (chain::kExpFlops + others);
  w.chain_loads = 2;
  w.chain_operations = chain::side_by_side(chain::kExp + chain::kDivide + others, 4);
  return w;
}

KernelWork work(const gpu::ProcessLogitsArgs& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kTried = 3;    // depths in one reading of the row
  constexpr std::uint64_t kSearch = 16;  // readings for one limit
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->logit_rows);
  const std::uint64_t V = size_of(args.vocabulary);
  const std::uint64_t turns = chain::turns(V, threads_of(launch));
  KernelWork w;
  std::uint64_t readings = 0;  // of the row that is read most often
  std::uint64_t weighed = 0;   // those of them that need exponentials
  for (std::uint64_t i = 0; i < rows; ++i) {
    const gpu::ProcessInput& input = args.inputs[i];
    const bool filters = input.filter.any();
    const bool is_masked = input.mask != gpu::ProcessInput::kNoMask;
    const std::uint64_t adjusted = input.adjustment_count + input.draft_count;
    w.bytes_read +=
        sizeof(gpu::ProcessInput) + input.draft_count * kWord +
        input.adjustment_count * sizeof(sampling::Adjustment) +
        (filters || is_masked ? V : adjusted) * kFloat +
        (is_masked ? sampling::mask_words(static_cast<std::uint32_t>(args.vocabulary)) * kWord : 0);
    w.bytes_written += (filters || is_masked ? V : adjusted) * kFloat;
    if (is_masked) readings = std::max<std::uint64_t>(readings, 1);
    if (!filters) continue;
    const std::uint64_t counts = input.filter.top_k > 0 ? kSearch : 0;
    const std::uint64_t masses = input.filter.top_p < 1 ? kSearch + 1 : 0;
    w.flops += V * ((counts + masses + 1) * 2 + masses * chain::kExpFlops);
    readings = std::max(readings, counts + masses + 2 + (is_masked ? 1 : 0));
    weighed = std::max(weighed, masses);
  }
  w.block_bytes = w.bytes_read + w.bytes_written;
  const std::uint64_t warps = threads_of(launch) / size_of(simt::kWarpSize);
  const std::uint64_t gather =
      kTried * (2 * chain::kWarpTree + chain::kSharedLoad + warps) + chain::kBarrier;
  w.chain_loads = 4 + turns * readings;
  w.chain_operations =
      readings * (turns * (chain::kDivide + kTried) + gather) + weighed * turns * chain::kExp;
  return w;
}

namespace {

/// The logits of a row at a temperature above 0 of which candidates say that one of them could win.
std::uint64_t logits_in_reach(const gpu::SampleArgs& args, std::uint64_t row) {
  const gpu::LogitInput& input = args.inputs[row];
  const int count = gpu::candidate_count(args.vocabulary);
  const std::span candidates(args.candidates + row * size_of(count), size_of(count));
  sampling::BestToken top = candidates[0];
  for (const sampling::BestToken& each : candidates) top.offer(each.score, each.token);
  if (top.token == gpu::SampleArgs::kNoPick) return 0;
  const sampling::GumbelDraw draw{input.seed, input.position, input.temperature, top.score};
  const float least = draw.top_score(top.token);
  int logits = 0;
  for (int first = 0; first < args.vocabulary; first += sampling::kNoiseGroup) {
    const sampling::BestToken& candidate = candidates[size_of(first / gpu::kCandidateLogits)];
    if (!draw.could_reach(least, candidate.score, static_cast<std::uint32_t>(first))) continue;
    logits += std::min(sampling::kNoiseGroup, args.vocabulary - first);
  }
  return size_of(logits);
}

}  // namespace

KernelWork work(const gpu::SampleArgs& args, const KernelLaunch& launch) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->logit_rows);
  const std::uint64_t V = size_of(args.vocabulary);
  const std::uint64_t candidates = size_of(gpu::candidate_count(args.vocabulary));
  const bool has_candidates = args.candidates != nullptr;
  std::uint64_t scored = 0;       // logits of all rows
  std::uint64_t scored_most = 0;  // of one row
  KernelWork w;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const gpu::LogitInput& input = args.inputs[i];
    w.bytes_written += (input.draft != gpu::RowInput::kNoDraft ? 2 : 1) * kWord;
    if (!(input.temperature > 0)) continue;
    const std::uint64_t of_row = has_candidates ? logits_in_reach(args, i) : V;
    scored += of_row;
    scored_most = std::max(scored_most, of_row);
  }
  w.bytes_read = rows * sizeof(gpu::LogitInput);
  w.bytes_read += has_candidates ? rows * candidates * sizeof(sampling::BestToken) + scored * kFloat
                                 : rows * V * kFloat;
  w.block_bytes = w.bytes_read + w.bytes_written;
  w.flops = rows * (has_candidates ? candidates : V) + scored * 2 * chain::kLogFlops;

  constexpr std::uint64_t kGroup = sampling::kNoiseGroup;  // logits of a thread at a time
  const std::uint64_t threads = threads_of(launch);
  const std::uint64_t groups = chain::turns(V, kGroup * threads);
  const std::uint64_t warps = threads / size_of(simt::kWarpSize);
  const std::uint64_t gather = 2 * chain::kWarpTree + chain::kBarrier + chain::kSharedLoad + warps;
  const std::uint64_t bound = has_candidates ? chain::kPhilox + chain::kDivide : 0;
  const std::uint64_t draw = chain::kPhilox + 2 * chain::kLog + chain::kDivide;
  const std::uint64_t compared = has_candidates ? chain::turns(candidates, threads) : groups;
  w.chain_loads = 2 + compared;
  w.chain_operations = compared * (has_candidates ? 1 : kGroup) + gather;
  if (scored > 0) {
    const std::uint64_t drawn = chain::turns(scored_most, kGroup * threads);
    w.chain_loads += drawn + (has_candidates ? groups : 0);
    w.chain_operations += groups * bound + drawn * draw + gather;
  }
  return w;
}

KernelWork work(const gpu::DigestLogitsArgs& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kLanes = 8;  // of the digest
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->logit_rows);
  const std::uint64_t V = size_of(args.vocabulary);
  const std::uint64_t read = rows * (V * kFloat + sizeof(gpu::LogitInput));
  KernelWork w;
  w.bytes_read = read;
  w.bytes_written = rows * sizeof(std::uint64_t);
  w.block_bytes = read + w.bytes_written;
  const std::uint64_t turns = chain::turns(V, 2 * size_of(simt::kWarpSize));
  w.chain_loads = 2 + turns;
  w.chain_operations =
      (turns * size_of(simt::kWarpSize) / kLanes + kLanes) * (chain::kDigestStep + chain::kShuffle);
  return w;
}

KernelWork work_of(const KernelLaunch& launch) {
  return gpu::visit_args(launch, [&](const auto& args) {
    KernelWork w = work(args, launch);
    constexpr bool kHasCounts = requires { args.counts; };
    constexpr bool kHasInput = requires { args.in.counts; };     // in which they are
    constexpr bool kHasRowCount = requires { args.row_count; };  // which is read instead
    if ((kHasCounts || kHasInput) && !kHasRowCount) {
      w.bytes_read += sizeof(gpu::PassCounts);
      w.block_bytes += blocks_of(launch) * sizeof(gpu::PassCounts);
    }
    return w;
  });
}

}  // namespace forge::sim
