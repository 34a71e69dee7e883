// A block id that the pool does not have, in a block table, in a copy, in a write to a table: the
// checker stops the kernel at the access and names the buffer that it missed.
#include <gmock/gmock.h>

#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "gpu/kv_world.h"
#include "gpu/simulated_memory.h"

namespace forge::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// One sequence of 40 positions in blocks of 16, whose second block is not one of the pool's.
class PlantedBlocks : public ::testing::Test {
 protected:
  PlantedBlocks() {
    world_.fill(random_);
    std::vector<std::uint32_t> tables = world_.tables();
    tables[1] = kPoolBlocks;
    std::byte* pool = memory_.array("kv_pool", world_.bytes());
    kv_ = world_.layer(pool, memory_.array("block_tables", tables));
    counts_ = memory_.array(
        "counts", std::vector<PassCounts>{{.rows = 1, .decode_rows = 1, .prompt_tiles = 1}});
    rows_ = memory_.array("rows", std::vector<RowInput>{{.position = 20}});
    qkv_ = memory_.array("qkv", random_.reals(4 * 8));
  }

  AttentionInput attention() {
    return {.counts = counts_,
            .rows = rows_,
            .qkv = qkv_,
            .out = memory_.array("out", std::vector<float>(2 * 8)),
            .kv = kv_,
            .scale = 1};
  }

  /// What the checker says.
  std::string fault(const KernelLaunch& launch) {
    simt::Checker checker(memory_.map());
    const auto done = simt::Machine().run(sim::kernel_code(launch.kernel), launch.shape,
                                          launch.args.data(), {.observer = &checker});
    if (done) return "nothing was reported";
    EXPECT_EQ(done.error().kind, simt::FaultKind::out_of_bounds);
    return to_string(done.error());
  }
  template <class Args>
  std::string fault(const Args& args, int count) {
    return fault(launch_of(args, args.shape(count)));
  }

  static constexpr std::uint32_t kPoolBlocks = 4;  // three of the sequence, one of nobody

  Random random_{1};
  KvWorld world_{{.kv_heads = 1, .group_size = 2, .head_size = 8, .block_size = 16}, {40}, random_};
  SimulatedMemory memory_;
  KvLayer kv_{};
  const PassCounts* counts_ = nullptr;
  const RowInput* rows_ = nullptr;
  float* qkv_ = nullptr;
};

TEST_F(PlantedBlocks, InABlockTableAreNamedByEveryPathOfAttention) {
  const auto reported = AllOf(HasSubstr("attend_segment.cuh"), HasSubstr("kv_pool"));
  EXPECT_THAT(fault(AttendDecodeArgs{attention()}, 1), reported);
  float* partial = memory_.array("partial", std::vector<float>(2 * 10));
  EXPECT_THAT(fault(AttendSplitArgs{attention(), partial, 1}, 1), reported);
  const PromptTile* tiles = memory_.array("tiles", std::vector<PromptTile>{{0, 1}});
  EXPECT_THAT(fault(AttendPromptArgs{attention(), tiles}, 1), reported);
}

TEST_F(PlantedBlocks, InABlockTableAreNamedWhereKvIsWritten) {
  const RotateAndStoreArgs args{.counts = counts_,
                                .rows = rows_,
                                .rotary = memory_.array("rotary", random_.reals(21 * 8)),
                                .rotary_size = 8,
                                .adjacent = false,
                                .qkv = qkv_,
                                .kv = kv_};
  EXPECT_THAT(fault(args, 1), AllOf(HasSubstr("rotate_and_store.cuh"), HasSubstr("kv_pool")));
}

TEST_F(PlantedBlocks, InACopyAreNamed) {
  const CopyBlocksArgs args{
      .pairs = memory_.array("pairs", std::vector<BlockPair>{{0, 1}, {1, kPoolBlocks}}),
      .source = kv_.pool,
      .target = kv_.pool,
      .block_bytes = kv_.block_stride * sizeof(float)};
  EXPECT_THAT(fault(args, 2), AllOf(HasSubstr("copy_blocks.cuh"), HasSubstr("kv_pool")));
}

TEST_F(PlantedBlocks, AWriteBeyondTheTablesIsNamed) {
  const UpdateTablesArgs args{
      .writes = memory_.array("writes", std::vector<TableWrite>{{0, 0, 1}, {7, 0, 2}}),
      .count = memory_.array("count", std::vector<std::uint32_t>{2}),
      .tables = memory_.array("tables", std::vector<std::uint32_t>(6)),
      .table_stride = 3};
  EXPECT_THAT(fault(args, 2), AllOf(HasSubstr("update_tables.cuh"), HasSubstr("tables")));
}

}  // namespace
}  // namespace forge::gpu
