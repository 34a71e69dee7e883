// moment_json: a step of a trace and the state after it as JSON, on one line. `forge-trace step
// --json` prints it; the page of forge-infer (src/serve/page.html) follows a trace by itself, and a
// test holds each of its steps to this.
//
//   {"step":13,                        from 0
//    "line":21,                        of the file; 1 is the header
//    "link":"f3bac3be31a1e120",        the digest of the run up to here
//    "asked":[{"cancel":{...}}],       what came since the step before, as in the trace
//    "plan":{"step":13,...},           likewise (trace_json.h): what is usual is left out
//    "result":{"step":13,...},         likewise
//    "cache":{},                       likewise; {} if nothing was changed in the prefix cache
//    "waiting":[SEQUENCE,...],         in the order of the queue
//    "swapped":[SEQUENCE,...],         likewise
//    "running":[SEQUENCE,...],         in order of admission
//    "host_blocks":6,                  in use
//    "blocks":[[2,3],[3],[]],          by block: the sequences whose tables it is in, by id
//    "cached":[[0,1,0],[1,1,1,0]]}     by block: [block, seq, place, parent], as in cache.stored
//
// A SEQUENCE has the fields of TracedSequence (trace_state.h):
//
//   {"seq":3,"priority":"high","client":"0000000000000000","user":"0000000000000000",
//    "weight":1,"prompt_tokens":15,"output_tokens":8,"max_new_tokens":16,
//    "computed_tokens":22,"most_computed_tokens":22,"charged_tokens":22,
//    "host_blocks":0,"preemptions":0,"submitted":8,"deadline_steps":0,
//    "is_queued":false,"has_begun":true,"ends":false,
//    "session":7}                      absent if it has none
//
// Ids and steps use the full range of 64 bits.
#pragma once

#include <string>

#include "forge/trace/trace_timeline.h"

namespace forge::trace {

/// Without a newline. `after` has followed all events up to the step of `moment`.
std::string moment_json(const TraceMoment& moment, const TraceState& after);

}  // namespace forge::trace
