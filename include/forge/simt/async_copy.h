// Copies from global to shared memory that go on beside the thread that starts them: what the words
// copy_async, commit_copies and wait_copies (dialect.h) are made of.
//
//   start_copy(c)   c is on its way: 16 bytes, or as many zeros
//   commit_copies   those started since the last commit are a group
//   wait_copies(n)  all groups of this thread but its last n have arrived
//
// When a copy's bytes move is not said, except that they have at the wait. Without a seed they move
// there, as late as they can; with one, some move when they start, and some at a commit. Called by
// kernels that a Machine runs, and by nothing else.
//
// A thread waits for all of its copies before it returns: where a block has ended, another one may
// have its shared memory by the time the bytes arrive.
#pragma once

#include <cstddef>

#include "forge/simt/observer.h"

namespace forge::simt {

inline constexpr std::size_t kCopyBytes = 16;

namespace detail {

struct AsyncCopy {
  void* to = nullptr;
  const void* from = nullptr;  ///< null: zeros
  Access write;                ///< of the bytes at `to`, in an instrumented build
};

void start_copy(const AsyncCopy& copy);
void commit_copies();
void wait_copies(int pending);

}  // namespace detail
}  // namespace forge::simt
