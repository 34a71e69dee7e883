// The shape of a launch, in words that host code and both kinds of device share.
#pragma once

namespace forge::simt {

inline constexpr int kWarpSize = 32;

struct Index3 {
  int x = 0;
  int y = 0;
  int z = 0;

  friend constexpr bool operator==(const Index3&, const Index3&) = default;
};

/// A grid of one-dimensional blocks.
struct LaunchShape {
  Index3 grid{1, 1, 1};
  int threads = kWarpSize;  ///< in a block; a multiple of kWarpSize, up to 1024
  int shared_bytes = 0;     ///< of a block's array of SIMT_SHARED_DYNAMIC

  constexpr long long blocks() const { return static_cast<long long>(grid.x) * grid.y * grid.z; }
  /// The index of the block with this number; x runs fastest.
  constexpr Index3 index_of(long long block) const {
    return {static_cast<int>(block % grid.x), static_cast<int>(block / grid.x % grid.y),
            static_cast<int>(block / grid.x / grid.y)};
  }
  friend constexpr bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// The most of them: what sm_90 gives a block.
inline constexpr int kSharedBytesMax = 227 * 1024;

/// 16 bytes, moved at once by load4 and store4.
struct alignas(16) Float4 {
  float x, y, z, w;
};
/// Moved at once by load16 and store16.
struct alignas(16) Words4 {
  unsigned x, y, z, w;
};

}  // namespace forge::simt
