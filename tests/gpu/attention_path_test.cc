// Which way the rows of a slab attend in fast numerics.
#include "attention_path.h"

#include <gtest/gtest.h>

#include <string>

namespace forge::gpu {
namespace {

constexpr std::uint32_t kSplitRows = 16;

/// A slab of decode rows over `segments` segments, and one of tiles over `tile_segments`.
struct Rows {
  std::uint32_t decodes = 0;
  std::uint32_t segments = 0;
  std::uint32_t in_tiles = 0;
  std::uint32_t tile_rows = 0;
  std::uint32_t tile_segments = 0;
};

/// "decodes split, tiles wide, 3 spans".
std::string path_of(const Rows& rows, std::uint32_t group_size = 4, bool has_wide = true) {
  const std::uint32_t tiles =
      rows.tile_rows == 0 ? 0 : (rows.in_tiles + rows.tile_rows - 1) / rows.tile_rows;
  const SlabShape shape{.counts = {.rows = rows.decodes + rows.in_tiles,
                                   .decode_rows = rows.decodes,
                                   .prompt_tiles = tiles},
                        .key_segments = rows.segments,
                        .tile_segments = rows.tile_segments,
                        .tile_rows = rows.tile_rows};
  const SpanPaths paths = span_paths(shape, kSplitRows, group_size, has_wide);
  std::string text = paths.decodes == DecodePath::split ? "decodes split" : "decodes whole";
  text += paths.tiles == TilePath::wide    ? ", tiles wide"
          : paths.tiles == TilePath::split ? ", tiles split"
                                           : ", tiles whole";
  return text + ", " + std::to_string(paths.spans) + " spans";
}

TEST(SpanPaths, few_decode_rows_over_several_spans_are_split) {
  EXPECT_EQ(path_of({.decodes = 16, .segments = 3}), "decodes split, tiles whole, 3 spans");
  EXPECT_EQ(path_of({.decodes = 17, .segments = 3}), "decodes whole, tiles whole, 3 spans");
  EXPECT_EQ(path_of({.decodes = 16, .segments = 1}), "decodes whole, tiles whole, 1 spans");
}

TEST(SpanPaths, tiles_of_more_than_64_pairs_are_wide) {
  const Rows rows{.in_tiles = 16, .tile_rows = 16, .tile_segments = 1};
  EXPECT_EQ(path_of(rows, 4), "decodes whole, tiles whole, 0 spans");
  EXPECT_EQ(path_of(rows, 5), "decodes whole, tiles wide, 0 spans");
  EXPECT_EQ(path_of(rows, 5, false), "decodes whole, tiles whole, 0 spans");
}

TEST(SpanPaths, decode_rows_beside_wide_tiles_are_split_by_themselves) {
  const Rows rows{
      .decodes = 9, .segments = 3, .in_tiles = 200, .tile_rows = 128, .tile_segments = 8};
  EXPECT_EQ(path_of(rows), "decodes split, tiles wide, 3 spans");
  EXPECT_EQ(path_of(rows, 4, false), "decodes split, tiles whole, 3 spans");
}

/// All rows of the slab count: merge_spans takes them together, up to the longest context of all.
TEST(SpanPaths, short_tiles_are_split_with_the_decode_rows) {
  Rows rows{.decodes = 4, .segments = 1, .in_tiles = 12, .tile_rows = 4, .tile_segments = 3};
  EXPECT_EQ(path_of(rows), "decodes split, tiles split, 3 spans");
  rows.segments = 5;
  EXPECT_EQ(path_of(rows), "decodes split, tiles split, 5 spans");
  rows.in_tiles = 13;
  EXPECT_EQ(path_of(rows), "decodes split, tiles whole, 5 spans");
  rows = {.in_tiles = 12, .tile_rows = 4, .tile_segments = 1};
  EXPECT_EQ(path_of(rows), "decodes whole, tiles whole, 0 spans");
}

}  // namespace
}  // namespace forge::gpu
