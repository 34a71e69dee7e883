// Sequences whose latents lie in a pool of blocks, and what is to become latents: what the inputs
// of all kernels of multi-head latent attention are made from.
#pragma once

#include "forge/numerics/latent_attention.h"
#include "kernel_case_builder.h"

namespace forge::apps {

/// The latents of all sequences, and rows of the pass for the last positions of each.
struct LatentCache {
  std::size_t latent_size;
  std::size_t rope_size;
  std::size_t block_size;
  std::size_t heads;
  std::size_t blocks_each;  ///< blocks of a sequence, and entries of its table
  Uploaded<std::uint32_t> tables;
  std::shared_ptr<const model::KvPool> latents;
  Uploaded<std::uint32_t> pool;  ///< the words of that
  Uploaded<gpu::RowInput> rows;

  std::size_t row_size() const { return latent_size + rope_size; }
  std::span<const std::uint32_t> table(const gpu::RowInput& row) const {
    return {tables.data() + row.table * blocks_each, blocks_each};
  }
  /// What a row sees.
  numerics::PagedLatent view(const gpu::RowInput& row) const {
    return latents->latent_view(0, table(row), row.position + 1, static_cast<int>(latent_size));
  }
  gpu::LatentLayer layer() const {
    return {.pool = pool.device,
            .block_stride = row_size() * block_size,
            .tables = tables.device,
            .table_stride = static_cast<std::uint32_t>(blocks_each),
            .block_size = static_cast<int>(block_size),
            .latent_size = static_cast<int>(latent_size),
            .rope_size = static_cast<int>(rope_size),
            .type = latents->type()};
  }
};

/// Of the last `rows_each` positions of each sequence.
LatentCache make_latents(KernelCaseBuilder& b, numerics::KvType type, std::size_t rows_each = 1);

/// What the products of a pass have made: latents that are to be normed and turned, in adjacent
/// pairs, and queries of which a part turns.
struct LatentRows {
  static constexpr float kEps = 1e-6F;

  LatentRows(KernelCaseBuilder& b, numerics::KvType type);

  /// What turns of the query of a head of a row, number `head` of all.
  std::vector<float> turned_query(std::size_t head) const;
  /// The pool then has the rows' latents.
  void expect_latents(KernelCaseBuilder& b) const;

  LatentCache cache;
  std::size_t nope_size;
  Uploaded<float> rotary;
  Uploaded<float> norm;
  Uploaded<float> products;  ///< [rows][C + R]
  Uploaded<float> queries;   ///< [rows][H][N + R]

 private:
  model::KvPool stored() const;
  void turn(float* head, const gpu::RowInput& row) const;
};

}  // namespace forge::apps
