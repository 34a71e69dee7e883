// The kernels of test_kernels.h in the dialect. A comment at the end of a line is how tests find
// it.
#pragma once

#include "forge/simt/dialect.h"
#include "simt/test_kernels.h"

namespace FORGE_KERNELS {

using forge::simt::block;
using forge::simt::global;
using forge::simt::gptr;
using forge::simt::lane;
using forge::simt::sptr;
using forge::simt::sync_block;
using forge::simt::sync_warp;
using forge::simt::thread;
using forge::simt::threads;
using forge::simt::warp;

FORGE_KERNEL(forge::simt::ReduceArgs::kThreads) reduce(forge::simt::ReduceArgs a) {
  constexpr int kWarps = forge::simt::ReduceArgs::kThreads / forge::simt::kWarpSize;
  SIMT_SHARED(float, sums, kWarps);
  SIMT_SHARED(float, maxima, kWarps);
  const gptr<const float> x = global(a.x) + block().x * a.size;
  float sum = 0;
  float max = x[0];  // first of the row
  for (int i = thread(); i < a.size; i += threads()) {
    const float v = x[i];
    sum = sum + v;
    max = v > max ? v : max;
  }
  sum = forge::simt::warp_sum(sum);  // sum of a warp
  max = forge::simt::warp_max(max);  // maximum of a warp
  if (lane() == 0) {
    sums[warp()] = sum;    // a sum for each warp
    maxima[warp()] = max;  // a maximum for each warp
  }
  sync_block();  // warps to block
  if (warp() == 0) {
    sum = forge::simt::warp_sum(lane() < kWarps ? sums[lane()] : 0.0f);
    max = forge::simt::warp_max(maxima[lane() % kWarps]);
    if (lane() == 0) {
      global(a.sum)[block().x] = sum;
      global(a.max)[block().x] = max;
    }
  }
}

FORGE_KERNEL(forge::simt::AxpyArgs::kThreads) axpy(forge::simt::AxpyArgs a) {
  const int i = 4 * (block().x * threads() + thread());
  const forge::simt::Float4 x = forge::simt::load4(global(a.x) + i);  // 16 bytes of x
  const gptr<float> y = global(a.y) + i;
  const forge::simt::Float4 v = forge::simt::load4(y);  // 16 bytes of y
  const forge::simt::Float4 result{a.a * x.x + v.x, a.a * x.y + v.y, a.a * x.z + v.z,
                                   a.a * x.w + v.w};
  forge::simt::store4(y, result);  // 16 bytes of the result
}

/// row[i] = row[i - distance] + row[i], all at once.
FORGE_DEVICE void scan_step(sptr<float> row, int distance) {
  const int i = thread();
  const float left = i >= distance ? row[i - distance] : 0.0f;
  sync_block();                       // between read and write of a step
  if (i >= distance) row[i] += left;  // an update
  sync_block();                       // between two steps
}

FORGE_KERNEL(forge::simt::ScanArgs::kThreads) scan(forge::simt::ScanArgs a) {
  constexpr int kThreads = forge::simt::ScanArgs::kThreads;
  SIMT_SHARED(float, input, kThreads);
  SIMT_SHARED(float, row, kThreads);
  const int i = thread();
  input[i] = global(a.x)[block().x * kThreads + i];
  sync_block();  // before the reversal
  row[i] = input[kThreads - 1 - i];
  sync_block();  // before the scan
  for (int distance = 1; distance < kThreads; distance *= 2) scan_step(row, distance);
  const float total = row[kThreads - 1];
  sync_block();  // before the rotation
  row[i] = i == 0 ? total : static_cast<float>(i);
  input[(i + 1) % kThreads] = row[i];
  sync_block();  // before the result
  global(a.y)[block().x * kThreads + i] = input[i] + row[(i + 1) % kThreads];
}

FORGE_KERNEL(forge::simt::TransposeArgs::kThreads) transpose(forge::simt::TransposeArgs a) {
  using Pair = forge::simt::TransposeArgs::Pair;
  using Colour = forge::simt::TransposeArgs::Colour;
  constexpr int kSize = forge::simt::kWarpSize;
  SIMT_SHARED(std::uint32_t, tiles, 2 * kSize * (kSize + 1));
  const sptr<std::uint32_t> tile = tiles + warp() * kSize * (kSize + 1);
  const int begin = (block().x * 2 + warp()) * kSize * kSize;
  for (int row = 0; row < kSize; ++row) {
    tile[row * (kSize + 1) + lane()] = global(a.x)[begin + row * kSize + lane()];
  }
  sync_warp();  // of the transposition
  for (int row = 0; row < kSize; ++row) {
    std::uint32_t v = tile[lane() * (kSize + 1) + row];
    v = forge::simt::shuffle(forge::simt::shuffle(v, lane() + 1), lane() - 1);
    global(a.y)[begin + row * kSize + lane()] = v;
  }
  const Colour colour = lane() % 2 == 0 ? Colour::red : Colour::green;
  const bool turned = forge::simt::shuffle_xor(colour, 1) != colour;
  const std::int64_t wide = forge::simt::shuffle_xor(std::int64_t{1} << lane(), 31);
  const Pair pair = forge::simt::shuffle_xor(Pair{thread(), static_cast<float>(turned)}, 31);
  const bool agree = forge::simt::shuffle(wide >> (31 - lane()) == 1, 0);
  global(a.pairs)[block().x * threads() + thread()] = agree ? pair : Pair{-1, 0};
}

/// Leaves v in this thread's place; returns what was there.
FORGE_DEVICE std::uint32_t leave(std::uint32_t v) {
  SIMT_SHARED(std::uint32_t, places, forge::simt::FreshArgs::kThreads);
  const std::uint32_t before = places[thread()];
  places[thread()] = v;
  return before;
}

FORGE_KERNEL(forge::simt::FreshArgs::kThreads) fresh(forge::simt::FreshArgs a) {
  const int i = block().x * threads() + thread();
  global(a.at_first)[i] = leave(static_cast<std::uint32_t>(i));
  global(a.again)[i] = leave(0);
}

FORGE_KERNEL(forge::simt::GreedyArgs::kThreads) greedy(forge::simt::GreedyArgs) {
  SIMT_SHARED(float, small, 1024);
  SIMT_SHARED(float, large, 11 * 1024 + 1);
  small[thread()] = 0;
  large[thread()] = 0;
}

// ---- Mistakes -----------------------------------------------------------------------------------

using forge::simt::Mistake;

FORGE_DEVICE void mistaken_access(const forge::simt::MistakeArgs& a, sptr<float> tile) {
  const gptr<float> values = global(a.values);
  const int t = thread();
  const int end = forge::simt::grid().x * threads();
  const float local = 1;
  switch (a.mistake) {
    case Mistake::read_past_buffer:
      tile[t] = t == 5 ? values[end] : 0.0f;  // read past buffer
      break;
    case Mistake::write_before_buffer:
      if (t == 6) values[-1] = 1.0f;  // write before buffer
      break;
    case Mistake::read_other_buffer:
      if (t == 7) tile[t] = values[global(a.other) - values];  // read other buffer
      break;
    case Mistake::read_unknown_memory:
      if (t == 8) tile[t] = global(&local)[0];  // unknown memory
      break;
    case Mistake::read_past_shared:
      if (t == 9) values[t] = tile[threads()];  // read past shared
      break;
    case Mistake::write_other_shared:
      if (t == 10) tile[threads() + 32] = 1.0f;  // write other shared
      break;
    case Mistake::misaligned_load:
      if (t == 11) tile[t] = forge::simt::load4(values + 1).x;  // misaligned load
      break;
    case Mistake::misaligned_store:
      if (t == 12) forge::simt::store4(tile + 2, {1, 2, 3, 4});  // misaligned store
      break;
    case Mistake::read_uninitialised:
      if (t == 13) values[t] = tile[t];  // uninitialised
      break;
    case Mistake::uninitialised_index:
      if (t == 15) values[tile[t] >= 0 ? t : end + t] = 1.0f;  // index from nowhere
      break;
    case Mistake::uninitialised_branch:
      if (t == 16 && tile[t] >= 0) sync_block();  // branch from nowhere
      if (t != 16) sync_block();
      break;
    default:
      break;
  }
}

/// Returns: true if the thread is to return.
FORGE_DEVICE bool mistaken_meeting(const forge::simt::MistakeArgs& a) {
  const int t = thread();
  switch (a.mistake) {
    case Mistake::barrier_in_branch:
      if (t != 14) sync_block();  // barrier in branch
      break;
    case Mistake::barrier_after_return:
      if (t >= 32) return true;
      sync_block();  // barrier after return
      break;
    case Mistake::two_barriers:
      if (t < 40) {
        sync_block();  // first of two
      } else {
        sync_block();  // second of two
      }
      break;
    case Mistake::lane_returned:
      if (t == 33) return true;
      forge::simt::warp_sum(1.0f);  // lane returned
      break;
    case Mistake::lane_at_barrier:
      if (t == 3) sync_block();    // lane at barrier
      forge::simt::shuffle(t, 0);  // lanes at shuffle
      break;
    case Mistake::two_collectives:
      if (t < 16) {
        forge::simt::warp_max(1.0f);  // half of the warp
      } else if (t < 32) {
        forge::simt::warp_max(2.0f);  // other half
      }
      break;
    default:
      break;
  }
  return false;
}

FORGE_DEVICE void mistaken_order(const forge::simt::MistakeArgs& a, sptr<float> tile) {
  const gptr<float> values = global(a.values);
  const int t = thread();
  tile[t] = 0.0f;
  sync_block();
  switch (a.mistake) {
    case Mistake::race_between_warps:
      tile[t] = 1.0f;                          // warps write
      values[t] = tile[(t + 32) % threads()];  // warps read
      break;
    case Mistake::race_within_warp:
      tile[t] = 1.0f;           // lanes write
      values[t] = tile[t ^ 1];  // lanes read
      break;
    case Mistake::race_read_then_write:
      if (t == 1) values[t] = tile[0];  // early read
      if (t == 0) tile[0] = 2.0f;       // late write
      break;
    case Mistake::race_in_global_memory:
      if (t % 40 == 0) values[2] = 1.0f;  // two writers
      break;
    case Mistake::race_between_blocks:
      if (t == 4) values[block().x / 2] = 1.0f;  // two blocks write
      break;
    case Mistake::read_of_other_block:
      values[block().x * threads() + t] = 1.0f;                                     // own row
      if (t == 1 && block().x == 2) tile[t] = values[(block().x - 1) * threads()];  // other row
      break;
    default:
      break;
  }
}

FORGE_KERNEL(forge::simt::MistakeArgs::kThreads) mistake(forge::simt::MistakeArgs a) {
  SIMT_SHARED(float, tile, forge::simt::MistakeArgs::kThreads);
  SIMT_SHARED(float, behind, forge::simt::MistakeArgs::kThreads);
  behind[thread()] = 0.0f;
  const bool between_blocks = a.mistake >= Mistake::race_between_blocks;
  if (!between_blocks && block().x != a.block) return;
  mistaken_access(a, tile);
  if (mistaken_meeting(a)) return;
  if (a.mistake >= Mistake::race_between_warps) mistaken_order(a, tile);
}

forge::simt::TestEntries test_entries() {
  return {.file = __FILE__,
          .reduce = FORGE_KERNEL_ENTRY(reduce),
          .axpy = FORGE_KERNEL_ENTRY(axpy),
          .scan = FORGE_KERNEL_ENTRY(scan),
          .transpose = FORGE_KERNEL_ENTRY(transpose),
          .fresh = FORGE_KERNEL_ENTRY(fresh),
          .greedy = FORGE_KERNEL_ENTRY(greedy),
          .mistake = FORGE_KERNEL_ENTRY(mistake)};
}

}  // namespace FORGE_KERNELS
