#include "gpu/latent_world.h"

#include <algorithm>

#include "forge/numerics/vector_ops.h"

namespace forge::gpu {
namespace {

std::uint32_t count_blocks(const LatentShape& shape, const std::vector<int>& lengths) {
  std::uint32_t count = 1;
  for (const int length : lengths) {
    count += static_cast<std::uint32_t>(ceil_div(length, shape.block_size));
  }
  return count;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const LatentShape& s) {
  return out << "H " << s.heads << " C " << s.latent_size << " R " << s.rope_size << " S "
             << s.block_size << " of " << name_of(s.type);
}

LatentWorld::LatentWorld(const LatentShape& shape, const std::vector<int>& lengths, Random& random)
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

void LatentWorld::store(std::uint32_t sequence, std::uint32_t position,
                        const std::vector<float>& row) {
  pool_.store_latent(kLayer, blocks_[sequence], position, row.data());
}

void LatentWorld::fill(Random& random) {
  for (std::uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
    for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(lengths_[sequence]); ++j) {
      store(sequence, j, random.reals(numbers_in(shape_.row_size()), 2.0f));
    }
  }
}

numerics::PagedLatent LatentWorld::view(std::uint32_t sequence, std::uint32_t length) const {
  return pool_.latent_view(kLayer, blocks_[sequence], length, shape_.latent_size);
}

LatentLayer LatentWorld::layer(KernelRig& rig, std::byte* pool) const {
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

std::size_t LatentWorld::stride() const {
  std::size_t longest = 0;
  for (const auto& blocks : blocks_) longest = std::max(longest, blocks.size());
  return longest + 2;
}

std::vector<RowInput> last_positions(const std::vector<int>& lengths) {
  std::vector<RowInput> rows;
  for (auto i = static_cast<std::uint32_t>(lengths.size()); i-- > 0;) {
    rows.push_back({.position = static_cast<std::uint32_t>(lengths[i] - 1), .table = i});
  }
  rows.push_back({.position = 0, .table = 0});
  return rows;
}

LatentRows::LatentRows(const LatentShape& of_shape, int of_nope_size, Turn of_turn,
                       const std::vector<int>& lengths, Random& random)
    : shape(of_shape), nope_size(of_nope_size), turn(of_turn), rows(last_positions(lengths)) {
  const auto all = static_cast<int>(rows.size());
  rotary = random.reals(numbers_in(*std::ranges::max_element(lengths), shape.rope_size));
  norm = random.reals(numbers_in(shape.latent_size));
  products = random.reals(numbers_in(all, shape.row_size()), 2.0f);
  queries = random.reals(numbers_in(all, shape.heads, nope_size + shape.rope_size), 2.0f);
}

void LatentRows::store(LatentWorld& world) const {
  for (int i = 0; i < count(); ++i) {
    const RowInput& row = rows[static_cast<std::size_t>(i)];
    const float* const x = &products[numbers_in(i, shape.row_size())];
    std::vector<float> latent(x, x + shape.row_size());
    numerics::rms_norm(x, norm.data(), shape.latent_size, kEps, latent.data());
    turn_to(row.position, latent.data() + shape.latent_size);
    world.store(row.table, row.position, latent);
  }
}

std::vector<float> LatentRows::turned_query(int row, int head) const {
  const int R = shape.rope_size;
  const float* const query =
      &queries[numbers_in(row * shape.heads + head, nope_size + R)] + nope_size;
  std::vector<float> turned(query, query + R);
  turn_to(rows[static_cast<std::size_t>(row)].position, turned.data());
  return turned;
}

void LatentRows::turn_to(std::uint32_t position, float* head) const {
  if (turn == Turn::not_at_all) return;
  const int R = shape.rope_size;
  const float* const cos = &rotary[numbers_in(static_cast<int>(position), R)];
  const auto rotate =
      turn == Turn::adjacent ? numerics::rotate_adjacent_pairs : numerics::rotate_pairs;
  rotate(head, cos, cos + R / 2, R / 2);
}

}  // namespace forge::gpu
