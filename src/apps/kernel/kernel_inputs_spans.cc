// Inputs of the attention of fast numerics: sequences whose KV of 16 bits lies in a pool of blocks.
//
// Sizes that the kernels do not take become the next that they do: KV of f32 is bf16, and a head
// has a multiple of 16 components. With one row of each sequence that row decodes, more rows are
// drafts to verify, or a chunk of a prompt; attend_spans has spans by blocks of their own if there
// are several.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "forge/numerics/span_attention.h"
#include "forge/numerics/tensor_product.h"
#include "kernel_case_builder.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// The KV of all sequences, and the rows of a pass.
struct SpanCase {
  numerics::KvType type;
  std::size_t head_size;
  std::size_t blocks_each;  ///< blocks of a sequence, and entries of its table
  std::size_t spans;        ///< of the context
  KernelSizes sizes;
  std::vector<float> sinks;  ///< of each query head; empty: none
  std::vector<float> q;
  Uploaded<std::uint32_t> tables;
  std::shared_ptr<const model::KvPool> kv;
  std::vector<gpu::RowInput> rows;
  gpu::SpanInput input;

  std::size_t heads() const { return static_cast<std::size_t>(sizes.heads); }
  std::size_t group_size() const { return static_cast<std::size_t>(sizes.heads / sizes.kv_heads); }
  std::size_t out_words() const { return rows.size() * heads() * head_size / 2; }
  std::size_t partial_floats() const { return rows.size() * heads() * spans * (head_size + 2); }

  std::span<const std::uint32_t> table(std::uint32_t sequence) const {
    return {tables.data() + sequence * blocks_each, blocks_each};
  }
  /// `count` query heads of a row from `head` on, which share a KV head.
  numerics::QueryGroup group(std::size_t row, std::size_t head, std::size_t count) const {
    return {.q = q.data() + (row * heads() + head) * head_size,
            .heads = static_cast<int>(count),
            .scale = input.scale,
            .score_cap = input.score_cap,
            .sinks = sinks.empty() ? nullptr : sinks.data() + head};
  }
  /// What a row sees of the KV head of a query head.
  numerics::PagedKV view(std::size_t row, std::size_t head) const {
    numerics::PagedKV seen = kv->view({.head = static_cast<int>(head / group_size())},
                                      table(rows[row].table), rows[row].position + 1);
    seen.first = input.first_seen(seen.length);
    return seen;
  }
};

/// Random keys and values of all positions.
std::shared_ptr<const model::KvPool> kv_of(KernelCaseBuilder& b, const SpanCase& c) {
  const model::KvShape shape{.heads = c.sizes.kv_heads, .head_size = static_cast<int>(c.head_size)};
  const auto blocks = static_cast<std::uint32_t>(c.tables.size());
  auto pool = std::make_shared<model::KvPool>(
      shape, blocks, static_cast<std::uint32_t>(c.sizes.block_size), c.type);
  const std::size_t context = b.size(&Sizes::context);
  const std::vector<float> numbers =
      b.floats(b.size(&Sizes::seqs) * context * b.size(&Sizes::kv_heads) * 2 * c.head_size);
  const float* next = numbers.data();
  for (std::uint32_t seq = 0; seq < b.size(&Sizes::seqs); ++seq) {
    for (std::uint32_t j = 0; j < context; ++j) {
      for (int head = 0; head < c.sizes.kv_heads; ++head, next += 2 * c.head_size) {
        pool->store({.head = head}, c.table(seq), j, next, next + c.head_size);
      }
    }
  }
  return pool;
}

/// The last `rows_each` positions of each sequence are rows of the pass.
std::vector<gpu::RowInput> rows_of(const KernelCaseBuilder& b, std::size_t rows_each) {
  const std::size_t context = b.size(&Sizes::context);
  std::vector<gpu::RowInput> rows;
  for (std::size_t seq = 0; seq < b.size(&Sizes::seqs); ++seq) {
    for (std::size_t position = context - rows_each; position < context; ++position) {
      rows.push_back({.position = static_cast<std::uint32_t>(position),
                      .table = static_cast<std::uint32_t>(seq)});
    }
  }
  return rows;
}

/// `out` and the counts are still missing.
SpanCase make_case(KernelCaseBuilder& b, std::size_t rows_each) {
  SpanCase c{.type = b.half_kv_type(),
             .head_size = (b.size(&Sizes::head_size) + 15) / 16 * 16,
             .blocks_each = (b.size(&Sizes::context) + b.size(&Sizes::block_size) - 1) /
                            b.size(&Sizes::block_size),
             .spans = (b.size(&Sizes::context) + numerics::kSpan - 1) / numerics::kSpan,
             .sizes = b.sizes()};
  c.tables = b.upload("tables", b.permutation(b.size(&Sizes::seqs) * c.blocks_each));
  c.kv = kv_of(b, c);
  c.rows = rows_of(b, rows_each);
  c.q = b.floats(c.rows.size() * c.heads() * c.head_size);
  if (c.sizes.sinks != 0) c.sinks = b.floats(c.heads());
  const std::size_t head_block = 2 * c.head_size * b.size(&Sizes::block_size);
  c.input = {.counts = nullptr,
             .rows = b.upload("rows", c.rows).device,
             .q = b.upload("q", words_of_halves(c.q, c.type)).device,
             .out = nullptr,
             .out_type = numerics::half_type(c.type),
             .kv = {.pool = b.upload_kv("kv_pool", *c.kv).device,
                    .block_stride = b.size(&Sizes::kv_heads) * head_block,
                    .tables = c.tables.device,
                    .table_stride = static_cast<std::uint32_t>(c.blocks_each),
                    .block_size = c.sizes.block_size,
                    .kv_heads = c.sizes.kv_heads,
                    .group_size = static_cast<int>(c.group_size()),
                    .head_size = static_cast<int>(c.head_size),
                    .type = c.type},
             .scale = 1 / std::sqrt(static_cast<float>(c.head_size)),
             .window = c.sizes.window,
             .score_cap = static_cast<float>(c.sizes.cap),
             .sinks = c.sinks.empty() ? nullptr : b.upload("sinks", c.sinks).device};
  return c;
}

/// The tiles of each sequence's rows, of up to as many as the host makes.
std::vector<gpu::PromptTile> tiles_of(const SpanCase& c) {
  constexpr std::uint32_t kMost = gpu::SpanTiles::kRowsMax;
  const auto rows_each = static_cast<std::uint32_t>(c.sizes.rows);
  std::vector<gpu::PromptTile> tiles;
  for (std::uint32_t first = 0; first < c.rows.size(); first += rows_each) {
    for (std::uint32_t i = 0; i < rows_each; i += kMost) {
      tiles.push_back({first + i, std::min(kMost, rows_each - i)});
    }
  }
  return tiles;
}

/// Puts all rows in tiles, which c.input.counts then counts. Returns: the tiles, and how many.
std::pair<gpu::SpanTiles, int> upload_tiles(KernelCaseBuilder& b, SpanCase& c) {
  const auto tiles = b.upload("tiles", tiles_of(c));
  const auto count = static_cast<std::uint32_t>(tiles.size());
  c.input.counts =
      b.counts({.rows = static_cast<std::uint32_t>(c.rows.size()), .prompt_tiles = count});
  const int most = std::min(c.sizes.rows, gpu::SpanTiles::kRowsMax);
  return {{tiles.device, most}, static_cast<int>(count)};
}

/// The counts of rows of which each attends by itself.
const gpu::PassCounts* decode_counts(KernelCaseBuilder& b, const SpanCase& c) {
  const auto rows = static_cast<std::uint32_t>(c.rows.size());
  return b.counts({.rows = rows, .decode_rows = rows});
}

/// out, as the reference has it on the tensor cores of the simulated machine.
std::uint32_t* expect_out(KernelCaseBuilder& b, const SpanCase& c) {
  const auto out = b.output<std::uint32_t>("out", c.out_words());
  b.expect<std::uint32_t>(out, [=](std::vector<std::uint32_t>& words) {
    std::vector<float> values(2 * words.size());
    float* next = values.data();
    for (std::size_t row = 0; row < c.rows.size(); ++row) {
      for (std::size_t head = 0; head < c.heads(); head += c.group_size()) {
        numerics::span_attention_reference(numerics::kMmaSm90, c.group(row, head, c.group_size()),
                                           c.view(row, head), next);
        next += c.group_size() * c.head_size;
      }
    }
    words = words_of_halves(values, c.type);
  });
  return out.device;
}

/// partial [rows][H][spans][D + 2]: a, m and l of each span that has a position that is seen.
void find_spans(const SpanCase& c, std::vector<float>& partial) {
  auto next = partial.begin();
  for (std::size_t row = 0; row < c.rows.size(); ++row) {
    for (std::size_t head = 0; head < c.heads(); ++head) {
      const numerics::PagedKV kv = c.view(row, head);
      for (int span = 0; span < static_cast<int>(c.spans); ++span) {
        if (span >= kv.first / numerics::kSpan && span * numerics::kSpan < kv.length) {
          const numerics::AttentionSpan found =
              numerics::span_reference(numerics::kMmaSm90, c.group(row, head, 1), kv, span);
          const auto end = std::ranges::copy(found.a, next).out;
          end[0] = found.m;
          end[1] = found.l;
        }
        next += static_cast<std::ptrdiff_t>(c.head_size) + 2;
      }
    }
  }
}

}  // namespace

gpu::KernelLaunch build_attend_spans(KernelCaseBuilder& b) {
  SpanCase c = make_case(b, b.size(&Sizes::rows));
  gpu::AttendSpansArgs args{.spans_max = static_cast<int>(c.spans)};
  auto count = static_cast<int>(c.rows.size());
  if (b.sizes().rows > 1) {
    std::tie(args.tiles, count) = upload_tiles(b, c);
  } else {
    c.input.counts = decode_counts(b, c);
  }
  args.in = c.input;
  if (c.spans == 1) {
    args.in.out = expect_out(b, c);
  } else {
    const auto partial = b.output<float>("partial", c.partial_floats());
    b.expect<float>(partial, [=](std::vector<float>& values) { find_spans(c, values); });
    args.partial = partial.device;
  }
  return gpu::launch_of(args, args.shape(count));
}

gpu::KernelLaunch build_attend_wide(KernelCaseBuilder& b) {
  SpanCase c = make_case(b, b.size(&Sizes::rows));
  const auto [tiles, count] = upload_tiles(b, c);
  c.input.out = expect_out(b, c);
  const gpu::AttendWideArgs args{.in = c.input, .tiles = tiles};
  return gpu::launch_of(args, args.shape(count));
}

gpu::KernelLaunch build_merge_spans(KernelCaseBuilder& b) {
  SpanCase c = make_case(b, 1);
  c.input.counts = decode_counts(b, c);
  std::vector<float> partial(c.partial_floats());
  find_spans(c, partial);
  c.input.out = expect_out(b, c);
  const gpu::MergeSpansArgs args{.in = c.input,
                                 .row_count = &c.input.counts->decode_rows,
                                 .partial = b.upload("partial", std::move(partial)).device,
                                 .spans_max = static_cast<int>(c.spans)};
  return gpu::launch_of(args, args.shape(static_cast<int>(c.rows.size())));
}

}  // namespace forge::apps
