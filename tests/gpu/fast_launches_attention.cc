// The launches of attention over keys and values.
#include "gpu/fast_launches.h"

namespace forge::gpu {

using numerics::HalfType;
using numerics::KvType;

OverlappingLaunch FastLaunches::prepare_heads() {
  const KvShape shape{.head_size = 16, .type = KvType::bf16};
  const SpanInput in = attention(shape, 20);
  const PrepareHeadsArgs args{.counts = in.counts,
                              .rows = in.rows,
                              .rotary = memory_.array("rotary", random_.reals(20 * 16)),
                              .rotary_size = 16,
                              .adjacent = false,
                              .qkv = memory_.array("qkv", random_.reals(3 * 16)),
                              .q = in.out,
                              .kv = in.kv};
  return overlapping(args, args.shape(2), args.qkv);
}

SpanInput FastLaunches::attention(const KvShape& shape, int length, int rows) {
  KvWorld world(shape, {length}, random_);
  world.fill(random_);
  std::vector<RowInput> inputs;
  for (int position = length - rows; position < length; ++position) {
    inputs.push_back({.position = static_cast<std::uint32_t>(position)});
  }
  const int width = rows * shape.heads() * shape.head_size;
  return {.counts = one_row(),
          .rows = memory_.array("rows", inputs),
          .q = halves("q", width),
          .out = halves("out", width),
          .out_type = HalfType::bf16,
          .kv = world.layer(memory_.array("kv_pool", world.bytes()),
                            memory_.array("tables", world.tables())),
          .scale = 0.125f};
}

AttendWideArgs FastLaunches::wide_attention(const KvShape& shape, int length, int rows) {
  const auto count = static_cast<std::uint32_t>(rows);
  AttendWideArgs args{.in = attention(shape, length, rows),
                      .tiles = {memory_.array("tiles", std::vector<PromptTile>{{0, count}}), rows}};
  args.in.counts =
      memory_.array("counts", std::vector<PassCounts>{{.rows = count, .prompt_tiles = 1}});
  return args;
}

/// Two pairs of sixteen, and keys from within a tile to within another.
OverlappingLaunch FastLaunches::attend_spans() {
  const KvShape shape{.group_size = 2, .head_size = 64, .type = KvType::bf16};
  AttendSpansArgs args{attention(shape, 590)};
  args.in.window = 580;
  return overlapping(args, args.shape(2), args.in.q);
}

OverlappingLaunch FastLaunches::attend_spans_full() {
  const KvShape shape{.group_size = 16, .head_size = 128, .type = KvType::bf16};
  const AttendSpansArgs args{attention(shape, numerics::kSpan)};
  return overlapping(args, args.shape(1), args.in.q);
}

OverlappingLaunch FastLaunches::merge_spans() {
  constexpr std::size_t kSpans = 3;
  const KvShape shape{.head_size = 64, .type = KvType::bf16};
  const SpanInput in = attention(shape, 590);
  const MergeSpansArgs args{.in = in,
                            .row_count = &in.counts->decode_rows,
                            .partial = memory_.array("partial", random_.reals(kSpans * 66)),
                            .spans_max = kSpans};
  return overlapping(args, args.shape(2), args.partial);
}

/// Twenty pairs of 128, so most warps have none, and keys from within a tile to within another.
OverlappingLaunch FastLaunches::attend_wide() {
  const KvShape shape{.group_size = 2, .head_size = 64, .type = KvType::bf16};
  AttendWideArgs args = wide_attention(shape, 590, 10);
  args.in.window = 570;
  return overlapping(args, args.shape(2), args.in.q);
}

OverlappingLaunch FastLaunches::attend_wide_full() {
  const KvShape shape{.head_size = 128, .type = KvType::bf16};
  const AttendWideArgs args = wide_attention(shape, numerics::kSpan, 128);
  return overlapping(args, args.shape(1), args.in.q);
}

}  // namespace forge::gpu
