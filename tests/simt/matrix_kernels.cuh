// The kernels of matrix_kernels.h in the dialect. A comment at the end of a line is how tests find
// it.
#pragma once

#include "forge/simt/dialect.h"
#include "simt/matrix_kernels.h"

namespace FORGE_KERNELS {

using forge::numerics::BF16;
using forge::simt::MatrixA;
using forge::simt::MatrixSum;
using forge::simt::Omission;
using forge::simt::ProductArgs;

/// Where 16 bytes of a row lie in a stage: rows of 64 bytes, two of which have all banks; the eight
/// rows that a load takes together are spread over four places.
FORGE_DEVICE int place(int row, int chunk, bool swizzled) {
  return row * 32 + (swizzled ? chunk ^ (row / 2 % 4) : chunk) * 8;
}

FORGE_KERNEL(ProductArgs::kThreads) product(ProductArgs a) {
  SIMT_SHARED_DYNAMIC(BF16, ring);
  constexpr int kStage = (ProductArgs::kRows + ProductArgs::kOutputs) * ProductArgs::kStageInputs;
  constexpr int kRows = ProductArgs::kRows;
  const Omission without = a.omission;
  const bool written = without != Omission::swizzle_of_write && without != Omission::swizzle;
  const bool read = without != Omission::swizzle_of_read && without != Omission::swizzle;
  const int stages = (a.inputs + ProductArgs::kStageInputs - 1) / ProductArgs::kStageInputs;
  const auto x = forge::simt::global(a.x);
  const auto w = forge::simt::global(a.w) + static_cast<std::ptrdiff_t>(forge::simt::block().x) *
                                                ProductArgs::kOutputs * a.inputs;

  const auto fill = [&](int stage, int slot) {
    for (int i = forge::simt::thread(); i < (kRows + ProductArgs::kOutputs) * 4;
         i += forge::simt::threads()) {
      const int row = i / 4;
      const int k = stage * ProductArgs::kStageInputs + i % 4 * 8;
      const auto from = row < kRows ? x + row * a.inputs + k : w + (row - kRows) * a.inputs + k;
      const bool is_there = k < a.inputs && (row >= kRows || row < a.rows);
      const auto to = ring + slot * kStage + place(row, i % 4, written);
      const bool copies = is_there || without == Omission::zero_fill;
      forge::simt::copy_async(to, from, copies);  // copy of a stage
    }
    if (without != Omission::commit) forge::simt::commit_copies();  // a commit
  };

  fill(0, 0);
  fill(1, 1);
  MatrixSum<float> d{};
  for (int stage = 0; stage < stages; ++stage) {
    if (without != Omission::wait) forge::simt::wait_copies<1>();  // a wait
    if (without != Omission::barrier) forge::simt::sync_block();
    const int ahead = without == Omission::stage ? 3 : 2;
    fill(stage + 2, (stage + ahead) % ProductArgs::kStages);
    const auto slot = ring + stage % ProductArgs::kStages * kStage;
    const int lane = forge::simt::lane();
    const int output = kRows + forge::simt::warp() * 8 + lane % 8;
    const MatrixA outputs =
        forge::simt::load_matrix4(slot + place(output, lane / 8, read));  // rows of w
    for (int step = 0; step < 2; ++step) {
      const auto row = slot + place(lane % 16, 2 * step + lane / 16, read);
      const MatrixA rows = forge::simt::load_matrix4(row);  // rows of x
      d = forge::simt::matrix_step<BF16>(
          rows, {{outputs.words[2 * step], outputs.words[2 * step + 1]}}, d);
    }
  }
  if (without != Omission::last_wait) forge::simt::wait_copies<0>();
  const auto y = forge::simt::global(a.y);
  const int outputs = forge::simt::grid().x * ProductArgs::kOutputs;
  const int first = forge::simt::block().x * ProductArgs::kOutputs + forge::simt::warp() * 8 +
                    forge::simt::lane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const int row = forge::simt::lane() / 4 + i / 2 * 8;
    if (row < a.rows) y[row * outputs + first + i % 2] = d.at[i];
  }
}

template <class T>
FORGE_DEVICE void store_sum(forge::simt::gptr<T> out, const MatrixSum<T>& d) {
  for (int i = 0; i < 4; ++i) {
    const int row = forge::simt::lane() / 4 + i / 2 * 8;
    out[row * 8 + forge::simt::lane() % 4 * 2 + i % 2] = d.at[i];
  }
}

FORGE_KERNEL(forge::simt::MatrixWordsArgs::kThreads) words(forge::simt::MatrixWordsArgs args) {
  SIMT_SHARED(std::uint32_t, rows, 24 * 8);
  const int lane = forge::simt::lane();
  for (int i = lane; i < 24 * 8 / 4; i += 32) {
    const auto from =
        i < 32 ? forge::simt::global(args.a) + 4 * i : forge::simt::global(args.b) + 4 * (i - 32);
    forge::simt::store16(rows + 4 * i, forge::simt::load16(from));  // 16 bytes of a row
  }
  forge::simt::sync_warp();
  const MatrixA a = forge::simt::load_matrix4(rows + lane % 16 * 8 + lane / 16 * 4);
  const MatrixA turned = forge::simt::load_matrix4_transposed(rows + lane % 16 * 8 + lane / 16 * 4);
  // Of the four matrices two are b; the other lanes say where it is again.
  const MatrixA b = forge::simt::load_matrix4(rows + (16 + lane % 8) * 8 + lane / 8 % 2 * 4);
  const forge::simt::MatrixB factors{{b.words[0], b.words[1]}};
  if (lane == args.absent_lane) return;
  store_sum(forge::simt::global(args.bf16),
            forge::simt::matrix_step<BF16>(a, factors, MatrixSum<float>{}));  // the first step
  store_sum(forge::simt::global(args.f16), forge::simt::matrix_step<forge::numerics::F16>(
                                               a, factors, MatrixSum<float>{{1, 1, 1, 1}}));
  store_sum(forge::simt::global(args.s8), forge::simt::matrix_step<std::int8_t>(
                                              a, factors, MatrixSum<std::int32_t>{{7, 7, 7, 7}}));
  for (int m = 0; m < 4; ++m) {
    const auto out = forge::simt::global(args.transposed) + m * 64 + lane / 4 * 8 + lane % 4 * 2;
    out[0] = static_cast<std::uint16_t>(turned.words[m]);
    out[1] = static_cast<std::uint16_t>(turned.words[m] >> 16);
  }
}

FORGE_KERNEL(forge::simt::OverlapArgs::kThreads) overlap(forge::simt::OverlapArgs a) {
  using Mistake = forge::simt::OverlapArgs::Mistake;
  forge::simt::start_next();
  const int i = forge::simt::thread();
  const float w = forge::simt::global(a.w)[i];
  float x = 0;
  if (a.mistake == Mistake::early_read) x = forge::simt::global(a.x)[i];   // an early read
  if (a.mistake == Mistake::early_write) forge::simt::global(a.y)[i] = 0;  // an early write
  const bool waits = a.mistake != Mistake::no_wait && !(a.mistake == Mistake::some_wait && i == 7);
  if (waits) forge::simt::wait_for_previous();  // the wait for what was launched before
  if (a.mistake != Mistake::early_read) x = forge::simt::global(a.x)[i];  // x
  const float y = forge::simt::global(a.y)[i];
  forge::simt::global(a.y)[i] = y + x * w;  // y
}

FORGE_KERNEL(forge::simt::CountArgs::kThreads) count(forge::simt::CountArgs a) {
  SIMT_SHARED(std::uint32_t, counts, 8);
  const int i = forge::simt::thread();
  if (i >= 56) counts[i - 56] = 0;  // zeros
  if (a.missing_barrier != 1) forge::simt::sync_block();
  const std::uint32_t number = forge::simt::global(a.numbers)[i];
  forge::simt::shared_add(counts + number, 1u);  // an add
  if (a.missing_barrier != 2) forge::simt::sync_block();
  if (i < 8) forge::simt::global(a.counts)[i] = counts[i];  // counts
}

#ifndef __CUDACC__  // a GPU launches them by name
forge::simt::MatrixEntries matrix_entries() {
  return {.file = __FILE__,
          .product = FORGE_KERNEL_ENTRY(product),
          .words = FORGE_KERNEL_ENTRY(words),
          .overlap = FORGE_KERNEL_ENTRY(overlap),
          .count = FORGE_KERNEL_ENTRY(count)};
}
#endif

}  // namespace FORGE_KERNELS
