// Why threads that wait for each other will wait for ever, in words.
#pragma once

#include <span>

#include "forge/simt/machine.h"
#include "thread_state.h"

namespace forge::simt {

/// Explains a block in which no thread can go on, or whose threads have met at different barriers.
/// Requires: each thread waits or has returned, not all have returned.
KernelFault explain_deadlock(std::span<const ThreadState> block);

/// Explains the warp that begins with `first_thread`, whose lanes have met for different things.
KernelFault explain_missing_lanes(std::span<const ThreadState> warp, int first_thread);

}  // namespace forge::simt
