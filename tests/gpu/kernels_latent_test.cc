// Multi-head latent attention: each kernel has the bits of the CPU's functions, over pools that the
// CPU lays out (model/kv_pool.h).
#include <algorithm>
#include <ostream>

#include "forge/model/kv_pool.h"
#include "forge/numerics/latent_attention.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

struct LatentShape {
  int heads = 1;
  int latent_size = 16;
  int rope_size = 8;
  int block_size = 16;
  numerics::KvType type = numerics::KvType::f32;

  int row_size() const { return latent_size + rope_size; }
};
std::ostream& operator<<(std::ostream& out, const LatentShape& s) {
  return out << "H " << s.heads << " C " << s.latent_size << " R " << s.rope_size << " S "
             << s.block_size << " of " << name_of(s.type);
}

std::size_t product(int a, int b, int c = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

/// A pool with sequences in it. Their blocks are shuffled, entries of block tables beyond a
/// sequence name no block, and slots that hold nothing hold NaN.
class LatentWorld {
 public:
  static constexpr int kLayers = 2;
  static constexpr int kLayer = 1;  ///< that the kernels work on

  LatentWorld(const LatentShape& shape, const std::vector<int>& lengths, Random& random)
      : shape_(shape),
        lengths_(lengths),
        pool_({.layers = kLayers,
               .heads = 1,
               .head_size = shape.row_size(),
               .layout = model::KvLayout::latent},
              count_blocks(shape, lengths), static_cast<std::uint32_t>(shape.block_size),
              shape.type) {
    const std::vector<std::uint32_t> shuffled = random.permutation(pool_.num_blocks());
    auto next = shuffled.begin();
    for (const int length : lengths) {
      const int count = ceil_div(length, shape.block_size);
      blocks_.emplace_back(next, next + count);
      next += count;
    }
  }

  const LatentShape& shape() const { return shape_; }

  void store(std::uint32_t sequence, std::uint32_t position, const std::vector<float>& row) {
    pool_.store_latent(kLayer, blocks_[sequence], position, row.data());
  }
  void fill(Random& random) {
    for (std::uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
      for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(lengths_[sequence]); ++j) {
        store(sequence, j, random.reals(product(shape_.row_size(), 1), 2.0f));
      }
    }
  }

  numerics::PagedLatent view(std::uint32_t sequence, std::uint32_t length) const {
    return pool_.latent_view(kLayer, blocks_[sequence], length, shape_.latent_size);
  }
  std::vector<std::byte> bytes() const { return {pool_.bytes().begin(), pool_.bytes().end()}; }

  /// The kernels' view of it, over memory that holds bytes().
  LatentLayer layer(KernelRig& rig, std::byte* pool) const {
    const std::ptrdiff_t first =
        static_cast<const std::byte*>(view(0, 1).rows) - pool_.bytes().data();
    std::vector<std::uint32_t> tables(blocks_.size() * stride(), 0xffffffffu);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      std::ranges::copy(blocks_[i], tables.begin() + static_cast<std::ptrdiff_t>(i * stride()));
    }
    return {.pool = pool + first,
            .block_stride = static_cast<std::uint64_t>(view(0, 1).block_stride),
            .tables = rig.input("tables", tables),
            .table_stride = static_cast<std::uint32_t>(stride()),
            .block_size = shape_.block_size,
            .latent_size = shape_.latent_size,
            .rope_size = shape_.rope_size,
            .type = shape_.type};
  }

 private:
  static std::uint32_t count_blocks(const LatentShape& shape, const std::vector<int>& lengths) {
    std::uint32_t count = 1;
    for (const int length : lengths) {
      count += static_cast<std::uint32_t>(ceil_div(length, shape.block_size));
    }
    return count;
  }
  std::size_t stride() const {
    std::size_t longest = 0;
    for (const auto& blocks : blocks_) longest = std::max(longest, blocks.size());
    return longest + 2;
  }

  LatentShape shape_;
  std::vector<int> lengths_;
  std::vector<std::vector<std::uint32_t>> blocks_;  // of each sequence
  model::KvPool pool_;
};

/// Row i is the last position of sequence i, the last sequence first; one more is beyond the count.
std::vector<RowInput> last_positions(const std::vector<int>& lengths) {
  std::vector<RowInput> rows;
  for (auto i = static_cast<std::uint32_t>(lengths.size()); i-- > 0;) {
    rows.push_back({.position = static_cast<std::uint32_t>(lengths[i] - 1), .table = i});
  }
  rows.push_back({.position = 0, .table = 0});
  return rows;
}

class StoreLatent : public KernelTest {
 protected:
  enum class Turn { not_at_all, halves, adjacent };

  void expect(const LatentShape& shape, int nope_size, Turn kind) const {
    SCOPED_TRACE(testing::Message()
                 << shape << " N " << nope_size << " turn " << static_cast<int>(kind));
    const bool adjacent = kind == Turn::adjacent;
    const bool turns = kind != Turn::not_at_all;
    constexpr float kEps = 1e-6f;
    const std::vector<int> lengths{9, 1, 30};
    Random random(static_cast<std::uint64_t>(shape.latent_size + nope_size));
    LatentWorld world(shape, lengths, random);
    const int C = shape.latent_size;
    const int R = shape.rope_size;
    const int H = shape.heads;
    const std::vector<RowInput> rows = last_positions(lengths);
    const auto count = static_cast<int>(rows.size());
    const std::vector<float> rotary = random.reals(product(30, R));
    const std::vector<float> norm = random.reals(product(C, 1));
    const std::vector<float> products = random.reals(product(count, C + R), 2.0f);
    const std::vector<float> queries = random.reals(product(count, H, nope_size + R), 2.0f);
    const std::vector<float> absorbed = random.reals(product(count, H, C + R));

    const auto turn = [&](float* head, std::uint32_t position) {
      if (!turns) return;
      const float* cos = rotary.data() + product(static_cast<int>(position), R);
      const auto rotate = adjacent ? numerics::rotate_adjacent_pairs : numerics::rotate_pairs;
      rotate(head, cos, cos + R / 2, R / 2);
    };
    const std::vector<std::byte> pool_before = world.bytes();
    std::vector<float> turned = absorbed;
    for (int i = 0; i + 1 < count; ++i) {
      const RowInput& row = rows[static_cast<std::size_t>(i)];
      const float* x = products.data() + product(i, C + R);
      std::vector<float> latent(x, x + C + R);
      numerics::rms_norm(x, norm.data(), C, kEps, latent.data());
      turn(latent.data() + C, row.position);
      world.store(row.table, row.position, latent);
      for (int head = 0; head < H; ++head) {
        const float* q = queries.data() + product(i * H + head, nope_size + R) + nope_size;
        float* to = turned.data() + product(i * H + head, C + R) + C;
        std::copy_n(q, R, to);
        turn(to, row.position);
      }
    }

    const auto rig = this->rig(random.word());
    const PassCounts counts{.rows = static_cast<std::uint32_t>(count - 1)};
    const StoreLatentArgs args{
        .counts = rig->input("counts", std::vector{counts}),
        .rows = rig->input("rows", rows),
        .rotary = turns ? rig->input("rotary", rotary) : nullptr,
        .norm = rig->input("norm", norm),
        .products = rig->input("products", products),
        .queries = rig->input("queries", queries),
        .absorbed = rig->output("absorbed", absorbed, turned),
        .latents = world.layer(*rig, rig->output("pool", pool_before, world.bytes())),
        .heads = H,
        .nope_size = nope_size,
        .eps = kEps,
        .adjacent = adjacent};
    rig->expect(launch_of(args, args.shape(count)));
  }
};
FORGE_KERNEL_TEST_TARGETS(StoreLatent);

TEST_P(StoreLatent, SizesOfEveryTailInBothPairingsAndUnturned) {
  for (const Turn turn : {Turn::not_at_all, Turn::halves, Turn::adjacent}) {
    expect({.heads = 1, .latent_size = 1, .rope_size = 2}, 1, turn);
    expect({.heads = 3, .latent_size = 33, .rope_size = 6, .block_size = 5}, 7, turn);
    expect({.heads = 2, .latent_size = 600, .rope_size = 66, .block_size = 1}, 4, turn);
    expect({.heads = 4, .latent_size = 512, .rope_size = 64}, 128, turn);
  }
}

TEST_P(StoreLatent, RoundsToTheTypeOfThePool) {
  for (const auto type : {numerics::KvType::bf16, numerics::KvType::f16}) {
    for (const Turn turn : {Turn::not_at_all, Turn::halves, Turn::adjacent}) {
      expect({3, 33, 6, 5, type}, 7, turn);
      expect({2, 512, 64, 16, type}, 128, turn);
    }
  }
}

class AttendLatent : public KernelTest {
 protected:
  /// A pass of the last position of each sequence, in both ways.
  void expect(const LatentShape& shape, const std::vector<int>& lengths) const {
    SCOPED_TRACE(testing::Message() << shape << " lengths " << testing::PrintToString(lengths));
    constexpr float kScale = 0.3f;
    constexpr float kUnwritten = -777.0f;
    Random random(lengths.size() + product(lengths[0], shape.heads, shape.row_size()));
    LatentWorld world(shape, lengths, random);
    world.fill(random);
    const std::vector<RowInput> rows = last_positions(lengths);
    const auto count = static_cast<int>(rows.size());
    const int C = shape.latent_size;
    const std::vector<float> queries =
        random.reals(product(count, shape.heads, shape.row_size()), 1.0f);
    const std::vector<float> before(product(count, shape.heads, C), kUnwritten);
    std::vector<float> after = before;
    for (int i = 0; i + 1 < count; ++i) {
      const RowInput& row = rows[static_cast<std::size_t>(i)];
      const float* q = queries.data() + product(i, shape.heads, shape.row_size());
      numerics::attend_reference({q, shape.heads, kScale}, world.view(row.table, row.position + 1),
                                 after.data() + product(i, shape.heads, C));
    }
    const auto input = [&](KernelRig& rig) -> LatentAttentionInput {
      const PassCounts counts{.rows = static_cast<std::uint32_t>(count - 1)};
      return {.counts = rig.input("counts", std::vector{counts}),
              .rows = rig.input("rows", rows),
              .queries = rig.input("queries", queries),
              .out = rig.output("out", before, after),
              .latents = world.layer(rig, rig.input("pool", world.bytes())),
              .heads = shape.heads,
              .scale = kScale};
    };

    const auto together = rig(random.word());
    const AttendLatentArgs attend{input(*together)};
    together->expect(launch_of(attend, attend.shape(count + 1)));

    const auto split = rig(random.word());
    const int segments_max =
        ceil_div(*std::ranges::max_element(lengths), numerics::kKeySegment) + 1;
    const std::vector<float> partial(product(count + 1, shape.heads, segments_max * (C + 2)));
    const AttendLatentSplitArgs segments{input(*split), split->input("partial", partial),
                                         segments_max};
    const AttendLatentMergeArgs merge{segments.in, segments.partial, segments_max};
    split->expect(
        {launch_of(segments, segments.shape(count + 1)), launch_of(merge, merge.shape(count + 1))});
  }
};
FORGE_KERNEL_TEST_TARGETS(AttendLatent);

TEST_P(AttendLatent, ContextsAroundTheEdgesOfSegments) {
  expect({.heads = 2}, {1, 2, 31, 32, 33, 255, 256, 257, 511, 513, 769});
}

TEST_P(AttendLatent, HeadsOfEveryTile) {
  for (const int heads : {1, 2, 4, 5, 15, 16, 17, 33}) expect({.heads = heads}, {40, 300});
}

TEST_P(AttendLatent, SizesOfEveryTail) {
  for (const int latent_size : {1, 3, 31, 64, 65, 130, 257}) {
    expect({.heads = 3, .latent_size = latent_size, .rope_size = 2}, {260, 9});
  }
  for (const int rope_size : {2, 14, 16, 18, 60}) {
    expect({.heads = 5, .latent_size = 20, .rope_size = rope_size, .block_size = 7}, {33});
  }
}

TEST_P(AttendLatent, BlocksOfEverySize) {
  for (const int S : {1, 2, 5, 31, 256, 257, 1000}) expect({.heads = 2, .block_size = S}, {600, 3});
}

TEST_P(AttendLatent, LatentsOf16Bits) {
  for (const auto type : {numerics::KvType::bf16, numerics::KvType::f16}) {
    for (const int heads : {1, 3, 17}) expect({heads, 31, 6, 7, type}, {1, 40, 257, 513});
    expect({5, 128, 16, 16, type}, {300});
  }
}

TEST_P(AttendLatent, LatentsOfThePublishedModels) {
  expect({.heads = 16, .latent_size = 512, .rope_size = 64, .block_size = 64}, {270});
}

TEST_P(AttendLatent, TheLargestThatTheCpuTakes) {
  expect(
      {.heads = 2, .latent_size = numerics::kLatentSizeMax - 2, .rope_size = 2, .block_size = 16},
      {258});
}

}  // namespace
}  // namespace forge::gpu
