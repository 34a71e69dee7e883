#include "latent_cache.h"

#include "forge/numerics/canonical.h"
#include "forge/numerics/reference.h"

namespace forge::apps {

LatentCache make_latents(KernelCaseBuilder& b, numerics::KvType type, std::size_t rows_each) {
  LatentCache cache{.latent_size = b.size(&KernelSizes::latent_size),
                    .rope_size = b.size(&KernelSizes::rope_size),
                    .block_size = b.size(&KernelSizes::block_size),
                    .heads = b.size(&KernelSizes::heads)};
  const std::size_t context = b.size(&KernelSizes::context);
  const std::size_t seqs = b.size(&KernelSizes::seqs);
  cache.blocks_each = (context + cache.block_size - 1) / cache.block_size;
  cache.tables = b.upload("tables", b.permutation(seqs * cache.blocks_each));
  std::vector<gpu::RowInput> rows;
  auto pool = std::make_shared<model::KvPool>(
      model::KvShape{.head_size = static_cast<int>(cache.row_size()),
                     .layout = model::KvLayout::latent},
      static_cast<std::uint32_t>(seqs * cache.blocks_each),
      static_cast<std::uint32_t>(cache.block_size), type);
  const std::vector<float> latents = b.floats(seqs * context * cache.row_size());
  const float* next = latents.data();
  for (std::size_t seq = 0; seq < seqs; ++seq) {
    for (std::size_t position = context - rows_each; position < context; ++position) {
      rows.push_back({.position = static_cast<std::uint32_t>(position),
                      .table = static_cast<std::uint32_t>(seq)});
    }
    for (std::uint32_t j = 0; j < context; ++j, next += cache.row_size()) {
      pool->store_latent(0, cache.table(rows.back()), j, next);
    }
  }
  cache.pool = b.upload_kv("kv_pool", *pool);
  cache.latents = std::move(pool);
  cache.rows = b.upload("rows", std::move(rows));
  return cache;
}

LatentRows::LatentRows(KernelCaseBuilder& b, numerics::KvType type)
    : cache(make_latents(b, type)), nope_size(b.size(&KernelSizes::head_size)) {
  const std::size_t rows = cache.rows.size();
  // Any numbers turn as well as cosines and sines.
  rotary = b.upload("rotary", b.floats(b.size(&KernelSizes::context) * cache.rope_size));
  norm = b.upload("norm", b.floats(cache.latent_size));
  products = b.upload("products", b.floats(rows * cache.row_size()));
  queries = b.upload("queries", b.floats(rows * cache.heads * (nope_size + cache.rope_size)));
}

std::vector<float> LatentRows::turned_query(std::size_t head) const {
  const float* const query = queries.data() + head * (nope_size + cache.rope_size) + nope_size;
  std::vector<float> turned(query, query + cache.rope_size);
  turn(turned.data(), cache.rows[head / cache.heads]);
  return turned;
}

void LatentRows::expect_latents(KernelCaseBuilder& b) const {
  b.expect<std::uint32_t>(cache.pool, [rows = *this](std::vector<std::uint32_t>& words) {
    words = words_of(rows.stored());
  });
}

model::KvPool LatentRows::stored() const {
  model::KvPool pool = *cache.latents;
  for (std::size_t r = 0; r < cache.rows.size(); ++r) {
    const gpu::RowInput& row = cache.rows[r];
    const float* const x = products.data() + r * cache.row_size();
    std::vector<float> latent(x, x + cache.row_size());
    numerics::rms_norm_reference(x, norm.data(), static_cast<int>(cache.latent_size), kEps,
                                 latent.data());
    turn(latent.data() + cache.latent_size, row);
    pool.store_latent(0, cache.table(row), row.position, latent.data());
  }
  return pool;
}

void LatentRows::turn(float* head, const gpu::RowInput& row) const {
  const std::size_t R = cache.rope_size;
  const float* const cos = rotary.data() + row.position * R;
  numerics::rotate_adjacent_pairs_reference(head, cos, cos + R / 2, static_cast<int>(R / 2));
}

}  // namespace forge::apps
