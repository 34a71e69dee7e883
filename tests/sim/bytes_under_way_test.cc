// What keeps memory busy: bytes that a multiprocessor has asked for and not yet received. By
// Little's law they are at least its share of the bandwidth times the latency of memory; these
// tests ask for 32 KB, which is more. A kernel that reads weights or keys once, in a ring, asks for
// all stages but the one that it works on.
#include <gtest/gtest.h>

#include <algorithm>

#include "forge/gpu/kernels.h"
#include "forge/sim/kernel_time.h"

namespace forge::sim {
namespace {

constexpr double kNeeded = 32 << 10;

TEST(BytesUnderWay, needed_are_more_than_the_latency_alone_asks_for) {
  const DeviceDescription device = find_device("h200").value();
  EXPECT_GE(kNeeded, device.memory_gb_per_s * device.memory_latency_ns / device.multiprocessors);
}

/// Blocks that run on a multiprocessor at once, on average: as many as fit, or as there are.
double blocks_at_once(const DeviceDescription& device, const gpu::KernelLaunch& launch) {
  const int fit = occupancy(device, launch.shape.threads, gpu::resources_of(launch)).blocks;
  return std::min<double>(fit, static_cast<double>(launch.shape.blocks()) / device.multiprocessors);
}

struct Layer {
  const char* name;
  int inputs;
  int outputs;
  bool gated = false;
};

/// Those of Llama-3-8B.
constexpr Layer kLayers[] = {{"qkv", 4096, 6144},
                             {"output", 4096, 4096},
                             {"gate and up", 4096, 28672, true},
                             {"down", 14336, 4096},
                             {"head", 4096, 128256}};

TEST(BytesUnderWay, of_weights_keep_an_h200_busy_whatever_the_rows) {
  const DeviceDescription device = find_device("h200").value();
  std::uint16_t gated = 0;
  for (const Layer& layer : kLayers) {
    for (const int rows : {1, 4, 5, 16}) {
      const gpu::ProjectNarrowArgs args{{.rows_max = rows,
                                         .inputs = layer.inputs,
                                         .outputs = layer.outputs,
                                         .gated = {.h = layer.gated ? &gated : nullptr}}};
      const gpu::KernelLaunch launch = gpu::launch_of(args, args.shape());
      const int weight_rows =
          launch.shape.threads / simt::kWarpSize * args.kTileOutputs * (layer.gated ? 2 : 1);
      const double of_block =
          args.stages(layer.gated) * weight_rows * args.kStageInputs * sizeof(std::uint16_t);
      EXPECT_GE(blocks_at_once(device, launch) * of_block, kNeeded) << layer.name << ", " << rows;
    }
  }
}

/// Of weights and rows, which come from L2 where other blocks have them.
TEST(BytesUnderWay, of_weights_and_more_rows_keep_an_h200_busy) {
  const DeviceDescription device = find_device("h200").value();
  std::uint16_t gated = 0;
  for (const Layer& layer : kLayers) {
    for (const int rows : {17, 32, 64}) {
      const gpu::ProjectWideArgs args{{.rows_max = rows,
                                       .inputs = layer.inputs,
                                       .outputs = layer.outputs,
                                       .gated = {.h = layer.gated ? &gated : nullptr}}};
      const gpu::KernelLaunch launch = gpu::launch_of(args, args.shape());
      const double of_block = (args.block().stages - 1) * (rows + args.block().outputs) *
                              args.kStageInputs * sizeof(std::uint16_t);
      EXPECT_GE(blocks_at_once(device, launch) * of_block, kNeeded) << layer.name << ", " << rows;
    }
  }
}

/// Of codes of four bits and more; those of fewer come near.
TEST(BytesUnderWay, of_codes_keep_an_h200_busy_whatever_the_rows) {
  const DeviceDescription device = find_device("h200").value();
  std::uint16_t gated = 0;
  for (const Layer& layer : kLayers) {
    for (const linear::PanelKind kind :
         {linear::PanelKind::q8_0, linear::PanelKind::int8, linear::PanelKind::q4_0,
          linear::PanelKind::int4, linear::PanelKind::q5_0, linear::PanelKind::q4_k,
          linear::PanelKind::q5_k, linear::PanelKind::q6_k, linear::PanelKind::table4}) {
      for (const int rows : {1, 16}) {
        const gpu::ProjectCodesNarrowArgs args{
            {.product = {.rows_max = rows,
                         .inputs = layer.inputs,
                         .outputs = layer.outputs,
                         .gated = {.h = layer.gated ? &gated : nullptr}},
             .kind = kind}};
        const double of_block = (args.stages() - 1) * args.stage_bytes();
        EXPECT_GE(blocks_at_once(device, gpu::launch_of(args, args.shape())) * of_block, kNeeded)
            << layer.name << ", " << name_of(kind) << ", " << rows;
      }
    }
  }
}

/// Of project_codes_few, whose codes are on their way to registers, two blocks share a
/// multiprocessor where there are panels for them; one finds room up to the inputs that it says.
TEST(BytesUnderWay, of_few_rows_of_codes_keep_a_multiprocessor_busy_that_is_full) {
  const DeviceDescription device = find_device("h200").value();
  std::uint16_t gated = 0;
  for (const Layer& layer : kLayers) {
    for (std::size_t i = 0; i < Names<linear::PanelKind>::kCount; ++i) {
      const auto kind = static_cast<linear::PanelKind>(i);
      if (!linear::has_codes(kind)) continue;
      for (const int rows : {1, 4}) {
        if (layer.inputs > gpu::ProjectCodesFewArgs::inputs_max(rows)) continue;
        const gpu::ProjectCodesFewArgs args{
            {.product = {.rows_max = rows,
                         .inputs = layer.inputs,
                         .outputs = layer.outputs,
                         .gated = {.h = layer.gated ? &gated : nullptr}},
             .kind = kind}};
        SCOPED_TRACE(testing::Message() << layer.name << ", " << name_of(kind) << ", " << rows);
        const gpu::KernelLaunch launch = gpu::launch_of(args, args.shape());
        const bool has_many = args.codes.panels() > args.kFewPanels;
        const int blocks =
            occupancy(device, launch.shape.threads, gpu::resources_of(launch)).blocks;
        EXPECT_GE(blocks, has_many ? 2 : 1);
        if (linear::codes::line_count(kind) < 4) continue;  // of two or three bits
        const double of_block = args.block_panels() * args.round_groups() *
                                static_cast<double>(linear::codes::group_bytes(kind));
        EXPECT_GE(blocks * of_block, kNeeded);
      }
    }
  }
}

/// q2_k leaves the chains most.
TEST(BytesUnderWay, of_few_rows_of_codes_leave_room_up_to_their_inputs) {
  constexpr int kRoom = 227 << 10;
  for (const int rows : {1, 2, 3, 4, 5}) {
    const gpu::ProjectCodesFewArgs args{
        {.product = {.rows_max = rows,
                     .inputs = gpu::ProjectCodesFewArgs::inputs_max(rows),
                     .outputs = 32},
         .kind = linear::PanelKind::q2_k}};
    EXPECT_LE(gpu::resources_of(gpu::launch_of(args, args.shape())).shared_bytes, kRoom) << rows;
  }
}

/// A block of either kernel finds room on every device, whatever the kind: on the smallest, 99 KB.
TEST(BytesUnderWay, of_codes_leave_room_on_every_device) {
  constexpr int kRoom = 99 << 10;
  std::uint16_t gated = 0;
  for (std::size_t i = 0; i < Names<linear::PanelKind>::kCount; ++i) {
    const auto kind = static_cast<linear::PanelKind>(i);
    if (!linear::has_codes(kind)) continue;
    for (std::uint16_t* const h : {static_cast<std::uint16_t*>(nullptr), &gated}) {
      const gpu::CodeProduct codes{
          .product = {.rows_max = 64, .inputs = 4096, .outputs = 4096, .gated = {.h = h}},
          .kind = kind};
      const gpu::ProjectCodesNarrowArgs narrow{codes};
      const gpu::ProjectCodesWideArgs wide{codes};
      EXPECT_LE(gpu::resources_of(gpu::launch_of(narrow, narrow.shape())).shared_bytes, kRoom)
          << name_of(kind);
      EXPECT_LE(gpu::resources_of(gpu::launch_of(wide, wide.shape())).shared_bytes, kRoom)
          << name_of(kind);
    }
  }
}

/// Those of experts have a word for each row of a block more.
TEST(BytesUnderWay, of_codes_of_experts_leave_room_on_every_device) {
  constexpr int kRoom = 99 << 10;
  std::uint16_t gated = 0;
  for (std::size_t i = 0; i < Names<linear::PanelKind>::kCount; ++i) {
    const auto kind = static_cast<linear::PanelKind>(i);
    if (!linear::has_codes(kind)) continue;
    for (std::uint16_t* const h : {static_cast<std::uint16_t*>(nullptr), &gated}) {
      const gpu::ExpertProduct product{
          .rows_max = 64, .tiles_max = 64, .inputs = 4096, .outputs = 4096, .gated = {.h = h}};
      const auto expect_room = [&](const auto& args) {
        EXPECT_LE(gpu::resources_of(gpu::launch_of(args, args.shape())).shared_bytes, kRoom)
            << name_of(kind);
      };
      expect_room(gpu::ProjectExpertsCodesNarrowArgs{product, kind});
      expect_room(gpu::ProjectExpertsCodesWideArgs{product, kind});
    }
  }
}

TEST(BytesUnderWay, of_keys_and_values_keep_an_h200_busy) {
  const DeviceDescription device = find_device("h200").value();
  for (const int rows : {1, 4, 16, 64}) {
    gpu::AttendSpansArgs args{.in = {.kv = {.kv_heads = 8, .group_size = 4, .head_size = 128}}};
    float partial = 0;
    args.partial = rows <= 16 ? &partial : nullptr;  // contexts are split, as the executor does
    args.spans_max = 32;                             // of 8192 tokens
    const gpu::KernelLaunch launch = gpu::launch_of(args, args.shape(rows));
    const int under_way = args.stages - 1;  // tiles
    const double of_block = under_way * 2 * numerics::kSpanTile * 128 * sizeof(std::uint16_t);
    EXPECT_GE(blocks_at_once(device, launch) * of_block, kNeeded) << rows << " rows";
  }
}

/// Of DeepSeek-V2-Lite, at 8192 tokens; from two rows on, with one there are 32 blocks.
TEST(BytesUnderWay, of_latents_keep_an_h200_busy) {
  const DeviceDescription device = find_device("h200").value();
  for (const int rows : {2, 16, 64}) {
    float partial = 0;
    const gpu::AttendLatentSpansArgs args{
        .in = {.latent_size = 512, .kv = {.kv_heads = 1, .group_size = 16, .head_size = 576}},
        .partial = &partial,
        .spans_max = 32};
    const gpu::KernelLaunch launch = gpu::launch_of(args, args.shape(rows));
    const double of_block = numerics::kSpanTile * 576 * sizeof(std::uint16_t);
    EXPECT_GE(blocks_at_once(device, launch) * of_block, kNeeded) << rows << " rows";
  }
}

}  // namespace
}  // namespace forge::sim
