// The reasons of trace_why.h as JSON, on one line: what `forge-trace why --json` prints, and what
// the page of forge-infer (src/serve/page.html) is held to.
//
// Of a step:
//   {"step":12,                                   from 0
//    "victims":[{"seq":5,"mode":"recompute",      who gave way, in the order chosen, and those
//                "candidates":[                   that ran, the first choice first
//                  {"seq":5,"priority":"normal","output_tokens":6},...]}],
//    "turns":[{"seq":3,"cached_tokens":12,        who entered, in their order, and the next one
//              "resumes":false,                   of each user that waited, the first one first
//              "rule":"no other user waits",      what decided between the first two
//              "candidates":[
//                {"seq":3,"client":"0000000000000000","user":"0000000000000000",
//                 "place":67,"resumes":false,
//                 "client_share":[1000,2],        [served, turn], see Share in policy.h
//                 "user_share":[1000,1]},...]}],
//    "end":"the batch is full",                   why nobody else entered
//    "next":6}                                    who would have been next; absent if nobody waits
//
// Of a sequence (sequence_story.h):
//   {"seq":6,"story":[{"first":8,"last":11,"words":"waits and is next: the batch is full"},...]}
#pragma once

#include <string>
#include <vector>

#include "forge/trace/sequence_story.h"
#include "forge/trace/trace_why.h"

namespace forge::trace {

/// Without a newline.
std::string to_json_line(const StepReasons& reasons);
std::string to_json_line(SeqId seq, const std::vector<StoryPart>& story);

}  // namespace forge::trace
