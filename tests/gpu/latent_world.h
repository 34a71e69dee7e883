// LatentWorld: sequences whose latents lie in a pool that the CPU lays out (model/kv_pool.h), for
// the tests of kernels over latents.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "forge/model/kv_pool.h"
#include "forge/numerics/latent_attention.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {

struct LatentShape {
  int heads = 1;
  int latent_size = 16;
  int rope_size = 8;
  int block_size = 16;
  numerics::KvType type = numerics::KvType::f32;

  int row_size() const { return latent_size + rope_size; }
};
std::ostream& operator<<(std::ostream& out, const LatentShape& shape);

/// How many numbers are in [a][b][c].
inline std::size_t numbers_in(int a, int b = 1, int c = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

/// A pool with sequences in it. Their blocks are shuffled, entries of block tables beyond a
/// sequence name no block, and slots that hold nothing hold NaN.
class LatentWorld {
 public:
  static constexpr int kLayers = 2;
  static constexpr int kLayer = 1;  ///< that the kernels work on

  LatentWorld(const LatentShape& shape, const std::vector<int>& lengths, Random& random);

  const LatentShape& shape() const { return shape_; }

  void store(std::uint32_t sequence, std::uint32_t position, const std::vector<float>& row);
  void fill(Random& random);

  numerics::PagedLatent view(std::uint32_t sequence, std::uint32_t length) const;
  std::vector<std::byte> bytes() const { return {pool_.bytes().begin(), pool_.bytes().end()}; }

  /// The kernels' view of it, over memory that holds bytes().
  LatentLayer layer(KernelRig& rig, std::byte* pool) const;

 private:
  std::size_t stride() const;

  LatentShape shape_;
  std::vector<int> lengths_;
  std::vector<std::vector<std::uint32_t>> blocks_;  // of each sequence
  model::KvPool pool_;
};

/// Row i is the last position of sequence i, the last sequence first; one more is beyond the count.
std::vector<RowInput> last_positions(const std::vector<int>& lengths);

/// How components turn: with their other half, with their neighbour, or not.
enum class Turn : std::uint8_t { not_at_all, halves, adjacent };

/// What the products of a pass have made, of which store_latent and prepare_latents make latents
/// and queries. The last row is beyond the count.
struct LatentRows {
  static constexpr float kEps = 1e-6F;

  LatentRows(const LatentShape& shape, int nope_size, Turn turn, const std::vector<int>& lengths,
             Random& random);

  int count() const { return static_cast<int>(rows.size()) - 1; }

  /// Of all rows of the count.
  void store(LatentWorld& world) const;
  /// What turns of the query [N + R] of a head.
  std::vector<float> turned_query(int row, int head) const;

  LatentShape shape;
  int nope_size;
  Turn turn;
  std::vector<RowInput> rows;
  std::vector<float> rotary;
  std::vector<float> norm;
  std::vector<float> products;  ///< [rows][C + R]
  std::vector<float> queries;   ///< [rows][H][N + R]

 private:
  void turn_to(std::uint32_t position, float* head) const;
};

}  // namespace forge::gpu
