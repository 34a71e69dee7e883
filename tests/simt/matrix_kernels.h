// What the tests of matrices and asynchronous copies run: a product with a ring of stages in shared
// memory, from which any part of its machinery can be left out, and each word by itself. Their code
// is in matrix_kernels.cuh, compiled in both builds.
#pragma once

#include <cstdint>
#include <string>

#include "forge/numerics/half.h"
#include "forge/simt/machine.h"

namespace forge::simt {

/// What is left out of the product.
enum class Omission : std::uint8_t {
  nothing,
  wait,              ///< before a stage is read
  barrier,           ///< before a stage is read, and the one before it filled again
  last_wait,         ///< before the thread returns
  commit,            ///< of each stage's copies
  zero_fill,         ///< of numbers beyond the end of a row
  swizzle_of_write,  ///< the term that spreads rows over the banks, where rows are written,
  swizzle_of_read,   ///< where they are read,
  swizzle,           ///< and on both sides
  stage,             ///< the refill goes where the threads are reading
};

/// y[m][n] = x[m] w[n], a chain of steps. One block of two warps has 16 rows and 16 outputs.
struct ProductArgs {
  static constexpr int kThreads = 64;
  static constexpr int kRows = 16;     ///< most rows of x
  static constexpr int kOutputs = 16;  ///< of a block
  static constexpr int kStages = 3;
  static constexpr int kStageInputs = 32;
  static constexpr int kSharedBytes = kStages * (kRows + kOutputs) * kStageInputs * 2;

  const numerics::BF16* x;  ///< [rows][inputs]
  const numerics::BF16* w;  ///< [grid.x][kOutputs][inputs]
  float* y;                 ///< [rows][grid.x][kOutputs]
  int rows;
  int inputs;  ///< a multiple of 8
  Omission omission;
};

/// A step of each type by one warp, from rows in shared memory; and the rows as they were loaded.
struct MatrixWordsArgs {
  static constexpr int kThreads = 32;
  const std::uint32_t* a;     ///< [16][8]
  const std::uint32_t* b;     ///< [8][8]
  float* bf16;                ///< [16][8]
  float* f16;                 ///< [16][8]
  std::int32_t* s8;           ///< [16][8]
  std::uint16_t* transposed;  ///< [4][8][8]: matrices of a, rows and columns exchanged
  int absent_lane;            ///< does not come to the first step; -1: all come
};

/// y[i] += x[i] w[i], with w read before the launch before this one has ended; or with a mistake.
struct OverlapArgs {
  enum class Mistake : std::uint8_t {
    none,
    no_wait,      ///< at all
    some_wait,    ///< all threads but one
    early_read,   ///< of x, before the wait
    early_write,  ///< of y
  };
  static constexpr int kThreads = 32;
  const float* x;  ///< [kThreads]
  const float* w;  ///< [kThreads]
  float* y;        ///< [kThreads]
  Mistake mistake;
};

/// How often each of 8 numbers is there; or with a barrier left out.
struct CountArgs {
  static constexpr int kThreads = 64;
  const std::uint32_t* numbers;  ///< [kThreads], below 8
  std::uint32_t* counts;         ///< [8]
  int missing_barrier;           ///< 0: none; 1: after the zeros, 2: before the counts are read
};

struct MatrixEntries {
  const char* file;
  Entry product, words, overlap, count;
};

/// Both builds of one.
KernelCode code(const char* name, Entry MatrixEntries::*kernel);

/// The line of matrix_kernels.cuh that ends in `// mark`.
Site matrix_line(const std::string& mark);

}  // namespace forge::simt

namespace forge::kernels::plain {
simt::MatrixEntries matrix_entries();
}
namespace forge::kernels::instrumented {
simt::MatrixEntries matrix_entries();
}
