#include "divergence.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "words.h"

namespace forge::simt {
namespace {

using Doing = ThreadState::Doing;

std::string name_of(const ThreadState& thread) {
  if (thread.doing == Doing::in_barrier) return "sync_block";
  switch (thread.collective) {
    case Collective::sync_warp:
      return "sync_warp";
    case Collective::shuffle:
      return "shuffle";
    case Collective::warp_sum:
      return "warp_sum";
    case Collective::warp_max:
      return "warp_max";
    case Collective::load_matrix:
      return "load_matrix4";
    case Collective::matrix_step:
      return "matrix_step";
  }
  return "";
}

/// "in warp_sum at rms_norm.cuh:42"
std::string what_of(const ThreadState& thread) {
  if (thread.doing == Doing::returned) return "returned";
  return "in " + name_of(thread) + " at " + to_string(thread.site);
}

/// Names what most of `threads` wait for as the meeting, and the others as those who miss it.
KernelFault explain(FaultKind kind, std::span<const ThreadState> threads, int first_thread) {
  std::map<std::string, std::vector<int>> groups;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    groups[what_of(threads[i])].push_back(first_thread + static_cast<int>(i));
  }
  // The largest group of those that wait; of equal ones the one with the lowest thread.
  const std::vector<int>* meeting = nullptr;
  for (const auto& [what, members] : groups) {
    if (threads[static_cast<std::size_t>(members[0] - first_thread)].doing == Doing::returned)
      continue;
    if (meeting == nullptr || members.size() > meeting->size() ||
        (members.size() == meeting->size() && members[0] < (*meeting)[0])) {
      meeting = &members;
    }
  }
  KernelFault fault;
  fault.kind = kind;
  fault.sites = {threads[static_cast<std::size_t>((*meeting)[0] - first_thread)].site};
  for (const auto& [what, members] : groups) {
    fault.detail += (fault.detail.empty() ? "" : "; ") + name_threads(members) + " " + what;
    if (&members != meeting) {
      fault.threads.insert(fault.threads.end(), members.begin(), members.end());
    }
  }
  std::sort(fault.threads.begin(), fault.threads.end());
  return fault;
}

}  // namespace

KernelFault explain_missing_lanes(std::span<const ThreadState> warp, int first_thread) {
  return explain(FaultKind::missing_lane, warp, first_thread);
}

KernelFault explain_deadlock(std::span<const ThreadState> block) {
  for (std::size_t begin = 0; begin < block.size(); begin += kWarpSize) {
    const auto warp = block.subspan(begin, kWarpSize);
    const bool in_collective = std::any_of(warp.begin(), warp.end(), [](const ThreadState& lane) {
      return lane.doing == Doing::in_collective;
    });
    if (in_collective) return explain_missing_lanes(warp, static_cast<int>(begin));
  }
  return explain(FaultKind::divergent_barrier, block, 0);
}

}  // namespace forge::simt
