// Generated workloads: requests of a made-up day, the same for a seed on every machine.
//
//   chat        conversations. One begins with one of 16 system prompts, the first of which is as
//               common as the others are rare, and each turn repeats all turns before it: what a
//               prefix cache is made for.
//   documents   short questions, and every seventh or so with a long document: what chunked prefill
//               is made for.
//
// Requests (documents) or conversations (chat) come at random, one independent of the other, so a
// chat needs a minute until as many requests a second come as shall. The lengths of texts are
// exponentially distributed, between limits.
//
// Draws are those of Philox, named by what they are for, and logarithms are canonical, so no
// machine's library has a say. Thread contract: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>

#include "forge/core/names.h"
#include "workload.h"

namespace forge::apps {

enum class WorkloadKind : std::uint8_t { chat, documents };
constexpr Names<WorkloadKind> names_of(WorkloadKind) { return {"chat", "documents"}; }

struct WorkloadShape {
  WorkloadKind kind = WorkloadKind::chat;
  std::size_t requests = 1000;
  double rate = 4;  ///< requests a second, in the mean, of chat about; above 0
  std::uint64_t seed = 1;
};

/// In order of arrival, whole milliseconds apart; prompts have hash ids.
Workload generate_workload(const WorkloadShape& shape);

/// As JSON lines of the Mooncake traces, which read_workload() reads. Requires: arrivals are whole
/// milliseconds, and each request has hash ids.
void write_workload(const Workload& workload, std::ostream& out);

}  // namespace forge::apps
