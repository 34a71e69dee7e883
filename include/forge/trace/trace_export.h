// export: a trace as a timeline for the Perfetto UI (https://ui.perfetto.dev) or chrome://tracing.
//
// Format: "Trace Event Format", JSON object form (Google, 2016): B and E open and close a slice, X
// is a slice with its duration, C a counter, i an instant, M a name.
//
// Time is virtual: step s is the millisecond [s, s + 1), whatever it took. ts and dur are in
// microseconds, as the format wants them.
//
//   process 1 "sequences", a thread a sequence, tid = its id:
//     waiting          from its submission or preemption to its admission
//     swapped          the same, with its KV on the host
//     running          in the batch; inside, per step in which it has a slice:
//       prefill chunk  part of the prompt, more to come        args: step, first, count, tokens
//       prefill        the rest of the prompt
//       recompute      tokens whose KV it had before
//       decode
//         drafts       the last part of the slice              args: proposed, accepted
//     an instant       how it finished: length, eos, ...
//   process 2 "scheduler", counters: blocks held, host blocks, waiting, running, batch size,
//     batch tokens. Written when they change.
//
// Events are written as they come, in order of time; only the unfinished sequences are in memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge::trace {

/// Returns the number of events written. The caller looks whether `out` took them all.
/// Errors: the trace cannot be read or contradicts itself; what was written is then no JSON.
tl::expected<std::uint64_t, TraceError> export_perfetto(TraceReader& trace, std::ostream& out);

}  // namespace forge::trace
