// What the tests of the machine run: kernels that keep the rules of the dialect, and one that
// breaks whichever it is told to. Their code is in test_kernels.cuh, compiled in both builds.
#pragma once

#include <cstdint>
#include <string>

#include "forge/simt/machine.h"

namespace forge::simt {

/// sum and max of each row, through the collectives and shared memory.
struct ReduceArgs {
  static constexpr int kThreads = 128;
  const float* x;  ///< [grid.x][size]
  float* sum;      ///< [grid.x]
  float* max;      ///< [grid.x]
  int size;
};

/// y = a x + y with 16 bytes a thread; no thread ever waits.
struct AxpyArgs {
  static constexpr int kThreads = 64;
  const float* x;  ///< [4 * threads * grid.x]
  float* y;
  float a;
};

/// A reversal, an inclusive prefix sum and a rotation of one row in shared memory. Each of its six
/// barriers is needed.
struct ScanArgs {
  static constexpr int kThreads = 128;
  const float* x;  ///< [grid.x][kThreads]
  float* y;        ///< [grid.x][kThreads]
};

/// Transposes 32 x 32 words by a warp, through shared memory and, to and fro, by shuffles of values
/// of several types.
struct TransposeArgs {
  static constexpr int kThreads = 64;
  struct Pair {
    std::int32_t first;
    float second;
  };
  enum class Colour : std::uint8_t { red, green };

  const std::uint32_t* x;  ///< [grid.x][2][32][32]
  std::uint32_t* y;        ///< [grid.x][2][32][32]
  Pair* pairs;             ///< [grid.x][kThreads]: of the opposite lane
};

/// What a block finds in a shared array: at first, and when it comes to its declaration again.
struct FreshArgs {
  static constexpr int kThreads = 32;
  std::uint32_t* at_first;  ///< [grid.x][kThreads]
  std::uint32_t* again;     ///< [grid.x][kThreads]
};

/// More shared memory than there is.
struct GreedyArgs {
  static constexpr int kThreads = 32;
};

/// Ways to break the rules.
enum class Mistake : std::uint8_t {
  none,
  read_past_buffer,
  write_before_buffer,
  read_other_buffer,
  read_unknown_memory,
  read_past_shared,
  write_other_shared,
  misaligned_load,
  misaligned_store,
  read_uninitialised,
  uninitialised_index,
  uninitialised_branch,
  barrier_in_branch,
  barrier_after_return,
  two_barriers,
  lane_returned,
  lane_at_barrier,
  two_collectives,
  race_between_warps,
  race_within_warp,
  race_read_then_write,
  race_in_global_memory,
  race_between_blocks,
  read_of_other_block,
};

struct MistakeArgs {
  static constexpr int kThreads = 64;
  Mistake mistake;
  int block;           ///< that makes the mistake
  float* values;       ///< [grid.x][kThreads]
  const float* other;  ///< [kThreads]
};

/// The Entry of each kernel in one build, and what the build calls their file.
struct TestEntries {
  const char* file;
  Entry reduce, axpy, scan, transpose, fresh, greedy, mistake;
};

/// Both builds of one, as `code("reduce", &TestEntries::reduce)`.
KernelCode code(const char* name, Entry TestEntries::*kernel);

/// The line of test_kernels.cuh that ends in `// mark`.
Site line_with(const std::string& mark);

}  // namespace forge::simt

namespace forge::kernels::plain {
simt::TestEntries test_entries();
}
namespace forge::kernels::instrumented {
simt::TestEntries test_entries();
}
