// What the words of dialect_fibers.h are made of: who the running thread is, where threads meet,
// and the arrays in shared memory. Called by kernels that a Machine runs, and by nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forge/simt/observer.h"
#include "forge/simt/shape.h"

namespace forge::simt {

/// A declaration of an array in shared memory; its address is its identity.
struct SharedArray {
  const char* name = "";
  std::size_t bytes = 0;
};

/// Where the block has the array.
struct SharedMemory {
  std::byte* data = nullptr;
  int array = 0;             ///< how many arrays of the block were declared before it
  std::uint32_t offset = 0;  ///< in the block's arena
};

/// What a warp meets for.
enum class Collective : std::uint8_t { sync_warp, shuffle, warp_sum, warp_max };

namespace detail {

/// The thread of a kernel that runs now on this host thread.
struct Running {
  int thread = 0;
  int threads = 0;
  Index3 block;
  Index3 grid;
  const std::byte* shared = nullptr;  ///< the block's shared memory
  BlockObserver* observer = nullptr;  ///< of the instrumented build
};
extern constinit thread_local Running running;

/// Each declaration gets memory once a block, filled with 0xff bytes.
SharedMemory declare_shared(const SharedArray& array);

/// Each returns when all threads of the block, all lanes of the warp, have called it at this site.
void meet_block(Site site);
void meet_warp(Site site);
/// Returns: the values of all lanes, to be read before the next meeting.
const std::uint64_t* exchange(std::uint64_t value, Site site);
/// Returns: the sum, or the largest, of the values of all lanes, by a tree.
float reduce(float value, Collective kind, Site site);

}  // namespace detail

}  // namespace forge::simt
