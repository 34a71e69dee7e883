// Launches of the kernels of latent attention.
#include <numeric>

#include "gpu/fast_launches.h"

namespace forge::gpu {

using numerics::HalfType;

LatentLayer FastLaunches::latents(int latent_size, int rope_size, int length) {
  constexpr int kBlockSize = 16;
  const int blocks = ceil_div(length, kBlockSize);
  const int of_block = kBlockSize * (latent_size + rope_size);
  std::vector<std::uint32_t> table(static_cast<std::size_t>(blocks));
  std::iota(table.begin(), table.end(), 0U);
  return {.pool = halves("latents", blocks * of_block),
          .block_stride = static_cast<std::uint64_t>(of_block),
          .tables = memory_.array("tables", table),
          .table_stride = static_cast<std::uint32_t>(blocks),
          .block_size = kBlockSize,
          .latent_size = latent_size,
          .rope_size = rope_size,
          .type = numerics::KvType::bf16};
}

AttendLatentSpansArgs FastLaunches::latent_attention(const LatentLayer& latents, int heads,
                                                     int length) {
  const std::vector<RowInput> row{{.position = static_cast<std::uint32_t>(length - 1)}};
  return {.in = {.counts = one_row(),
                 .rows = memory_.array("rows", row),
                 .q = halves("q", heads * latents.row_size()),
                 .out = halves("out", heads * latents.latent_size),
                 .out_type = HalfType::bf16,
                 .latent_size = latents.latent_size,
                 .kv = keys_of(latents, heads),
                 .scale = 0.125f}};
}

/// Twenty pairs of thirty-two, and keys from within a tile to within another.
OverlappingLaunch FastLaunches::attend_latent_spans() {
  AttendLatentSpansArgs args = latent_attention(latents(64, 16, 590), 20, 590);
  args.in.window = 580;
  return overlapping(args, args.shape(2), args.in.q);
}

OverlappingLaunch FastLaunches::attend_latent_spans_full() {
  const AttendLatentSpansArgs args =
      latent_attention(latents(512, 64, numerics::kSpan), 32, numerics::kSpan);
  return overlapping(args, args.shape(1), args.in.q);
}

OverlappingLaunch FastLaunches::prepare_latents() {
  constexpr int kHeads = 2;
  constexpr int kPlain = 24;
  const LatentLayer layer = latents(40, 8, 16);
  const auto width = static_cast<std::size_t>(layer.row_size());
  const PrepareLatentsArgs args{
      .counts = one_row(),
      .rows = memory_.array("rows", std::vector<RowInput>{{.position = 3}}),
      .rotary = memory_.array("rotary", random_.reals(16 * 8)),
      .norm = memory_.array("norm", random_.reals(40)),
      .products = memory_.array("products", random_.reals(width)),
      .queries = memory_.array("queries", random_.reals(kHeads * (kPlain + 8))),
      .plain = halves("plain", kHeads * kPlain),
      .plain_type = HalfType::bf16,
      .absorbed = halves("absorbed", kHeads * layer.row_size()),
      .latents = layer,
      .heads = kHeads,
      .nope_size = kPlain,
      .eps = 1e-6f,
      .adjacent = true};
  return overlapping(args, args.shape(2), args.queries);
}

ProjectHeadsWideArgs FastLaunches::heads(int rows, int inputs, int outputs) {
  constexpr int kHeads = 2;
  const auto count = static_cast<std::uint32_t>(rows);
  return {.row_count = memory_.array("row_count", std::vector<std::uint32_t>{count}),
          .rows_max = rows,
          .x = halves("x", rows * kHeads * inputs),
          .weights = halves("weights", kHeads * outputs * inputs),
          .matrix_bytes = static_cast<std::uint64_t>(outputs * inputs) * 2,
          .heads = kHeads,
          .inputs = inputs,
          .outputs = outputs,
          .type = HalfType::bf16,
          .y = halves("y", rows * kHeads * outputs),
          .y_stride = outputs,
          .y_type = HalfType::bf16,
          .kind = WideKind::small};
}

/// A row of sixty-four and fewer outputs than a block has, launched for more rows than there are,
/// and more than two turns of the ring.
OverlappingLaunch FastLaunches::project_heads_wide() {
  constexpr int kTurns = 2 * block_of(WideKind::small).stages * ProjectWideArgs::kStageInputs + 24;
  ProjectHeadsWideArgs args = heads(1, kTurns, 24);
  args.rows_max = block_of(WideKind::small).rows + 1;
  return overlapping(args, args.shape(), args.x);
}

OverlappingLaunch FastLaunches::project_heads_wide_full() {
  const WideBlock block = block_of(WideKind::small);
  const ProjectHeadsWideArgs args =
      heads(block.rows, 2 * ProjectWideArgs::kStageInputs, block.outputs);
  return overlapping(args, args.shape(), args.x);
}

}  // namespace forge::gpu
