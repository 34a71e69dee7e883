// What the words of dialect_fibers.h are made of: who the running thread is, where threads meet,
// and the arrays in shared memory. Called by kernels that a Machine runs, and by nothing else.
#pragma once

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

#include "forge/simt/matrix.h"
#include "forge/simt/observer.h"
#include "forge/simt/shape.h"

namespace forge::simt {

/// A declaration of an array in shared memory; its address is its identity.
struct SharedArray {
  const char* name = "";
  std::size_t bytes = 0;
  bool dynamic = false;  ///< as many bytes as the launch says, whatever `bytes` is
};

/// Where an array lies in the shared memory of the block.
struct SharedMemory {
  std::byte* data = nullptr;
  int array = 0;  ///< how many arrays of the block were declared before it
  std::size_t bytes = 0;
  std::uint32_t offset = 0;  ///< in the block's arena
};

/// What a warp meets for.
enum class Collective : std::uint8_t {
  sync_warp,
  shuffle,
  warp_sum,
  warp_max,
  load_matrix,
  matrix_step
};

/// What is in the matrices of a step.
enum class MatrixType : std::uint8_t { bf16, f16, s8 };

namespace detail {

using Context = boost::context::detail::fcontext_t;

/// The thread of a kernel that runs now on this host thread.
struct Running {
  int thread = 0;
  int threads = 0;
  Index3 block;
  Index3 grid;
  const std::byte* shared = nullptr;  ///< the block's shared memory
  BlockObserver* observer = nullptr;  ///< null in the plain build
  Context* left = nullptr;            ///< where to keep the context of the thread that ran before
};
extern constinit thread_local Running running;

/// Each declaration gets memory once a block, filled with 0xff bytes.
SharedMemory declare_shared(const SharedArray& array);

/// A row of four words that a lane reads for all.
using MatrixRow = std::array<std::uint32_t, 4>;

/// A lane's share of the matrices of a step; of the sum the bits.
struct MatrixShare {
  MatrixA a;
  MatrixB b;
  std::array<std::uint32_t, 4> sum;
};

/// What the lanes of a warp have brought to a meeting.
struct Exchange {
  std::array<std::uint64_t, kWarpSize> words;
  std::array<float, kWarpSize> floats;
  float reduced = 0;
  std::array<MatrixRow, kWarpSize> rows;
  std::array<MatrixShare, kWarpSize> shares;  ///< in the end with what the step has made
};

/// What a meeting decides while the running thread waits: which thread goes on.
struct Handover {
  Context next = nullptr;  ///< none if it goes on itself
  const Exchange* exchange = nullptr;
};

/// Tells the observer that the running thread has waited for the launch before.
inline void wait_for_previous() {
  if (running.observer != nullptr) running.observer->waited_for_previous(running.thread);
}

/// Whether the launch goes without the word of this line (LaunchOptions::left_out).
bool is_left_out(Site site);

Handover meet_block(Site site);
Handover meet_warp(Site site);
Handover exchange(std::uint64_t value, Site site);
Handover reduce(float value, Collective kind, Site site);
Handover exchange_rows(const MatrixRow& row, Site site);
Handover multiply(const MatrixShare& share, MatrixType type, Site site);

/// Returns when all have met and it is this thread's turn. Inline in the kernel, because a return
/// behind the jump would be mispredicted: the processor expects it to lead back into the thread
/// that was left. That triples the cost of a meeting.
inline void go_on(Context next) {
  if (next == nullptr) return;
  const auto arrival = boost::context::detail::jump_fcontext(next, nullptr);
  *running.left = arrival.fctx;
}

/// The sum, or the largest, of the values of all lanes.
inline float reduced(float value, Collective kind, Site site) {
  const Handover handover = reduce(value, kind, site);
  go_on(handover.next);
  return handover.exchange->reduced;
}

}  // namespace detail
}  // namespace forge::simt
