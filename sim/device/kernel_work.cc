#include "forge/sim/kernel_work.h"

#include <algorithm>

#include "forge/numerics/packed_matrix.h"
#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::KernelLaunch;

constexpr std::uint64_t kFloat = sizeof(float);

std::uint64_t columns(const KernelLaunch& launch) {
  return static_cast<std::uint64_t>(launch.shape.grid.x);
}
std::uint64_t blocks(const KernelLaunch& launch) {
  return static_cast<std::uint64_t>(launch.shape.blocks());
}
std::uint64_t threads(const KernelLaunch& launch) {
  return static_cast<std::uint64_t>(launch.shape.threads);
}

/// Rows that have work: a bucket of rows may be larger.
std::uint64_t rows(const KernelLaunch& launch, std::uint32_t count) {
  return std::min<std::uint64_t>(columns(launch), count);
}

KernelWork work(const gpu::UpdateTablesArgs& args, const KernelLaunch& launch) {
  const std::uint64_t writes = *args.count;
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + writes * sizeof(gpu::TableWrite);
  w.bytes_written = writes * sizeof(std::uint32_t);
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) +
                  writes * (sizeof(gpu::TableWrite) + sizeof(std::uint32_t));
  w.chain_loads = 2;
  return w;
}

KernelWork work(const gpu::CopyBlocksArgs& args, const KernelLaunch& launch) {
  const auto pairs = static_cast<std::uint64_t>(launch.shape.grid.y);
  const std::uint64_t bytes = pairs * args.block_floats * kFloat;
  KernelWork w;
  w.bytes_read = bytes + pairs * sizeof(gpu::BlockPair);
  w.bytes_written = bytes;
  w.block_bytes = 2 * bytes + blocks(launch) * sizeof(gpu::BlockPair);
  w.chain_loads = 2;
  return w;
}

KernelWork work(const gpu::EmbedArgs& args, const KernelLaunch& launch) {
  const std::uint64_t row_count = rows(launch, args.counts->rows);
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(args.hidden_size) * kFloat;
  std::uint64_t drafts = 0;
  for (std::uint64_t r = 0; r < row_count; ++r) {
    drafts += args.rows[r].draft != gpu::RowInput::kNoDraft ? 1 : 0;
  }
  const std::uint64_t read =
      row_count * (2 * sizeof(std::uint32_t) + row_bytes) + drafts * sizeof(std::uint32_t);
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + read;
  w.bytes_written = row_count * row_bytes;
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) + read + w.bytes_written;
  w.chain_loads = 3 + (drafts > 0 ? 1 : 0);
  return w;
}

KernelWork work(const gpu::RmsNormArgs& args, const KernelLaunch& launch) {
  const bool some = args.logits != nullptr;
  const std::uint64_t row_count = rows(launch, some ? args.counts->logit_rows : args.counts->rows);
  const auto size = static_cast<std::uint64_t>(args.size);
  const std::uint64_t row_bytes = size * kFloat;
  const std::uint64_t indices = some ? row_count * sizeof(std::uint32_t) : 0;
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + indices + (row_count + 1) * row_bytes;
  w.bytes_written = row_count * row_bytes;
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) + indices + row_count * 3 * row_bytes;
  w.flops = row_count * 4 * size;
  const std::uint64_t per_lane = chain::steps(size, threads(launch));
  w.chain_loads = 1 + (some ? 1 : 0) + 2 * chain::batches(per_lane);
  w.chain_operations = 3 * per_lane + chain::kWarpSum + 2 * chain::kDivide + chain::kSquareRoot;
  return w;
}

KernelWork work(const gpu::ProjectArgs& args, const KernelLaunch& launch) {
  const auto K = static_cast<std::uint64_t>(args.inputs);
  const auto N = static_cast<std::uint64_t>(args.outputs);
  const auto tile = static_cast<std::uint64_t>(gpu::ProjectArgs::kTileRows);
  const std::uint64_t row_count = std::min<std::uint64_t>(*args.row_count, columns(launch) * tile);
  const std::uint64_t tiles = (row_count + tile - 1) / tile;
  const std::uint64_t panels = (N + numerics::kPanelWidth - 1) / numerics::kPanelWidth;
  const std::uint64_t weights = panels * numerics::kPanelWidth * K * kFloat;
  const std::uint64_t x = row_count * K * kFloat;
  const std::uint64_t y = row_count * N * kFloat;
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + weights + x + (args.accumulate ? y : 0);
  w.bytes_written = y;
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) + tiles * weights + panels * x +
                  y * (args.accumulate ? 2 : 1);
  w.flops = 2 * row_count * panels * numerics::kPanelWidth * K;
  w.chain_loads = 1 + chain::batches(K) + (args.accumulate ? 1 : 0);
  w.chain_operations = K * std::min(row_count, tile);
  return w;
}

KernelWork work(const gpu::RotateAndStoreArgs& args, const KernelLaunch& launch) {
  const std::uint64_t row_count = rows(launch, args.counts->rows);
  const auto D = static_cast<std::uint64_t>(args.kv.head_size);
  const auto key_heads = static_cast<std::uint64_t>(args.kv.kv_heads);
  const std::uint64_t query_heads = key_heads * static_cast<std::uint64_t>(args.kv.group_size);
  const std::uint64_t heads = query_heads + 2 * key_heads;
  const std::uint64_t rotated = query_heads + key_heads;
  KernelWork w;
  w.bytes_read =
      sizeof(std::uint32_t) + row_count * (3 * sizeof(std::uint32_t) + (D + heads * D) * kFloat);
  w.bytes_written = row_count * (rotated + 2 * key_heads) * D * kFloat;
  w.block_bytes =
      blocks(launch) * sizeof(std::uint32_t) +
      row_count * (heads * 3 * sizeof(std::uint32_t) + (rotated * D + heads * D) * kFloat) +
      w.bytes_written;
  w.flops = row_count * rotated * (D / 2) * 6;
  w.chain_loads = 4;
  w.chain_operations = 4 * chain::steps(D / 2, threads(launch));
  return w;
}

KernelWork work(const gpu::SiluMultiplyArgs& args, const KernelLaunch& launch) {
  const std::uint64_t row_count = rows(launch, args.counts->rows);
  const auto F = static_cast<std::uint64_t>(args.size);
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + row_count * 2 * F * kFloat;
  w.bytes_written = row_count * F * kFloat;
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) + row_count * 3 * F * kFloat;
  w.flops = row_count * F * (chain::kExpFlops + 4);
  const std::uint64_t steps = chain::steps(F, threads(launch));
  w.chain_loads = 1 + chain::batches(steps);
  w.chain_operations = steps * (chain::kExp + chain::kDivide + 2);
  return w;
}

KernelWork work(const gpu::SampleArgs& args, const KernelLaunch& launch) {
  const std::uint64_t row_count = rows(launch, args.counts->logit_rows);
  const auto V = static_cast<std::uint64_t>(args.vocabulary);
  std::uint64_t drawn = 0;
  std::uint64_t drafts = 0;
  for (std::uint64_t i = 0; i < row_count; ++i) {
    drawn += args.inputs[i].temperature > 0 ? 1 : 0;
    drafts += args.inputs[i].draft != gpu::RowInput::kNoDraft ? 1 : 0;
  }
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + row_count * (sizeof(gpu::LogitInput) + V * kFloat);
  w.bytes_written = (row_count + drafts) * sizeof(std::uint32_t);
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) + w.bytes_read + w.bytes_written;
  w.flops = row_count * V + drawn * V * 2 * chain::kLogFlops;
  const std::uint64_t steps = chain::steps(V, threads(launch));
  w.chain_loads = 2 + chain::batches(steps);
  w.chain_operations = steps * (drawn > 0 ? chain::kPhilox + 2 * chain::kLog + chain::kDivide : 2) +
                       2 * chain::kWarpSum + chain::kBarrier;
  return w;
}

KernelWork work(const gpu::DigestLogitsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t row_count = rows(launch, args.counts->logit_rows);
  const auto V = static_cast<std::uint64_t>(args.vocabulary);
  KernelWork w;
  w.bytes_read = sizeof(std::uint32_t) + row_count * (sizeof(std::uint32_t) + V * kFloat);
  w.bytes_written = row_count * sizeof(std::uint64_t);
  w.block_bytes = blocks(launch) * sizeof(std::uint32_t) + w.bytes_read + w.bytes_written;
  constexpr std::uint64_t kLanes = 8;
  const std::uint64_t steps = chain::steps(V, 2 * kLanes);
  w.chain_loads = 2 + chain::batches(steps);
  w.chain_operations = (steps + kLanes) * chain::kDigestStep;
  return w;
}

}  // namespace

KernelWork work_of(const KernelLaunch& launch) {
  switch (launch.kernel) {
    case gpu::KernelId::update_tables:
      return work(args_of<gpu::UpdateTablesArgs>(launch), launch);
    case gpu::KernelId::copy_blocks:
      return work(args_of<gpu::CopyBlocksArgs>(launch), launch);
    case gpu::KernelId::embed:
      return work(args_of<gpu::EmbedArgs>(launch), launch);
    case gpu::KernelId::rms_norm:
      return work(args_of<gpu::RmsNormArgs>(launch), launch);
    case gpu::KernelId::project:
      return work(args_of<gpu::ProjectArgs>(launch), launch);
    case gpu::KernelId::rotate_and_store:
      return work(args_of<gpu::RotateAndStoreArgs>(launch), launch);
    case gpu::KernelId::attend_decode:
      return attend_decode_work(launch);
    case gpu::KernelId::attend_split:
      return attend_split_work(launch);
    case gpu::KernelId::attend_merge:
      return attend_merge_work(launch);
    case gpu::KernelId::attend_prompt:
      return attend_prompt_work(launch);
    case gpu::KernelId::silu_multiply:
      return work(args_of<gpu::SiluMultiplyArgs>(launch), launch);
    case gpu::KernelId::sample:
      return work(args_of<gpu::SampleArgs>(launch), launch);
    case gpu::KernelId::digest_logits:
      return work(args_of<gpu::DigestLogitsArgs>(launch), launch);
  }
  return {};
}

}  // namespace forge::sim
