// step_frame: one step of a trace as a screenful of text, for `forge-trace step`.
//
//   run.jsonl  step 13 of 0..31  line 21  link f3bac3be31a1e120
//   held 9/14 blocks of 4, shared 2, host 6/8, batch 2/4, tokens 2/12
//
//   blocks    ++3..32..3.223
//
//   waiting   5 6v
//   swapped   4~6
//   running   3:+8/16 2:+8/16
//
//   preempted 4~
//   copies    [6 out]
//   tables    2:4+12
//   slices    3:21+1 2:16+1
//   result    3=271 2=38
//   cache     -12
//
// waiting and swapped: in the order of the queue, which is one. running: in order of admission.
// asked: what came between the step before and this one. legend.h explains the words.
//
// What the lists say is the state after the step. What does not fit is counted: `+12 more`.
#pragma once

#include <cstdint>
#include <string>

#include "forge/trace/trace_timeline.h"

namespace forge::trace {

struct FrameOptions {
  std::string title;             ///< names the trace, mostly by its path
  std::uint64_t first_step = 0;  ///< of the trace
  std::uint64_t last_step = 0;
  std::size_t width = 80;   ///< columns, at least 40
  std::size_t height = 24;  ///< lines, at least 20
};

/// Lines with newlines, at most `height` of at most `width` columns. Plain text.
/// Requires: timeline.has_moment().
std::string step_frame(const TraceTimeline& timeline, const FrameOptions& options);

}  // namespace forge::trace
