#include "gpu/span_pass.h"

#include <algorithm>

#include "forge/numerics/span_attention.h"

namespace forge::gpu {
namespace {

constexpr std::uint16_t kUnwrittenHalf = 0x7777;

std::uint16_t half_bits(numerics::HalfType type, float x) {
  return type == numerics::HalfType::f16 ? numerics::half_of<numerics::F16>(x).bits
                                         : numerics::half_of<numerics::BF16>(x).bits;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const SpanKind& kind) {
  return out << "window " << kind.window << " cap " << kind.score_cap << " sinks " << kind.sinks
             << " out f16 " << (kind.out == numerics::HalfType::f16);
}

TiledRows::TiledRows(const std::vector<std::pair<int, int>>& slices, int tile_rows)
    : rows{{.position = 0, .table = 0}} {
  for (std::uint32_t i = 0; i < slices.size(); ++i) {
    const auto& [first, end] = slices[i];
    lengths.push_back(end);
    for (int position = first; position < end; ++position) {
      if ((position - first) % tile_rows == 0) {
        tiles.push_back({.first = static_cast<std::uint32_t>(rows.size()), .count = 0});
      }
      ++tiles.back().count;
      rows.push_back({.position = static_cast<std::uint32_t>(position), .table = i});
    }
  }
}

PassCounts TiledRows::counts() const {
  return {.rows = static_cast<std::uint32_t>(rows.size()),
          .decode_rows = 1,
          .prompt_tiles = static_cast<std::uint32_t>(tiles.size())};
}

std::vector<PromptTile> TiledRows::tiles_and_one() const {
  std::vector<PromptTile> more = tiles;
  more.push_back({.first = 4'000'000'000U, .count = 8});
  return more;
}

SpanPass::SpanPass(const KvWorld& world, const SpanKind& kind, std::vector<RowInput> rows,
                   Random& random)
    : world_(world), kind_(kind), rows_(std::move(rows)) {
  const KvShape& shape = world.shape();
  q_ = random.reals(rows_.size() * out_width(), 4.0f);
  scale_ = numerics::rsqrt(static_cast<float>(shape.head_size));
  sinks_ = random.reals(static_cast<std::size_t>(shape.heads()), 3.0f);
}

std::size_t SpanPass::out_width() const {
  return static_cast<std::size_t>(world_.shape().heads() * world_.shape().head_size);
}

SpanInput SpanPass::input(KernelRig& rig, const numerics::StepModel& step, const PassCounts& counts,
                          const std::vector<bool>& written) const {
  std::vector<std::uint16_t> q;
  for (const float x : q_) q.push_back(half_bits(half_type(world_.shape().type), x));
  std::byte* pool = rig.input("kv_pool", world_.bytes());
  const std::uint32_t* tables = rig.input("tables", world_.tables());
  const std::vector<std::uint16_t> after = expected(step, written);
  const std::vector<std::uint16_t> before(after.size(), kUnwrittenHalf);
  return {.counts = rig.input("counts", std::vector{counts}),
          .rows = rig.input("rows", rows_),
          .q = rig.input("q", q),
          .out = rig.output("out", before, after),
          .out_type = kind_.out,
          .kv = world_.layer(pool, tables),
          .scale = scale_,
          .window = kind_.window,
          .score_cap = kind_.score_cap,
          .sinks = kind_.sinks ? rig.input("sinks", sinks_) : nullptr};
}

std::vector<float> SpanPass::partial(const numerics::StepModel& step, int count, int rows_max,
                                     int spans_max) const {
  const KvShape& shape = world_.shape();
  const auto span_floats = static_cast<std::size_t>(shape.head_size + 2);
  std::vector<float> partial(
      static_cast<std::size_t>(rows_max * shape.heads() * spans_max) * span_floats, kUnwritten);
  for (int row = 0; row < count; ++row) {
    for (int head = 0; head < shape.heads(); ++head) {
      const numerics::PagedKV kv = view(row, head / shape.group_size);
      for (int span = kv.first / numerics::kSpan; span * numerics::kSpan < kv.length; ++span) {
        const numerics::AttentionSpan found =
            numerics::span_reference(step, group(row, head, 1), kv, span);
        const int index = (row * shape.heads() + head) * spans_max + span;
        const auto to = partial.begin() + index * static_cast<std::ptrdiff_t>(span_floats);
        const auto end = std::ranges::copy(found.a, to).out;
        end[0] = found.m;
        end[1] = found.l;
      }
    }
  }
  return partial;
}

numerics::PagedKV SpanPass::view(int row, int kv_head) const {
  const RowInput& input = rows_[static_cast<std::size_t>(row)];
  const int length = static_cast<int>(input.position) + 1;
  numerics::PagedKV kv = world_.view(input.table, kv_head, length);
  if (kind_.window > 0) kv.first = std::max(0, length - kind_.window);
  return kv;
}

numerics::QueryGroup SpanPass::group(int row, int head, int heads) const {
  const auto head_size = static_cast<std::size_t>(world_.shape().head_size);
  const std::size_t at = static_cast<std::size_t>(row) * out_width();
  return {.q = &q_[at + static_cast<std::size_t>(head) * head_size],
          .heads = heads,
          .scale = scale_,
          .score_cap = kind_.score_cap,
          .sinks = kind_.sinks ? &sinks_[static_cast<std::size_t>(head)] : nullptr};
}

std::vector<std::uint16_t> SpanPass::expected(const numerics::StepModel& step,
                                              const std::vector<bool>& written) const {
  const KvShape& shape = world_.shape();
  std::vector<std::uint16_t> out;
  std::vector<float> of_group(static_cast<std::size_t>(shape.group_size * shape.head_size));
  for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
    if (!written[static_cast<std::size_t>(row)]) {
      out.insert(out.end(), out_width(), kUnwrittenHalf);
      continue;
    }
    for (int head = 0; head < shape.kv_heads; ++head) {
      numerics::span_attention_reference(step,
                                         group(row, head * shape.group_size, shape.group_size),
                                         view(row, head), of_group.data());
      for (const float x : of_group) out.push_back(half_bits(kind_.out, x));
    }
  }
  return out;
}

}  // namespace forge::gpu
