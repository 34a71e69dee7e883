// The trace format, version 1: JSON lines, one event a line, in the order of the run.
//
// Line 1, the header:
//   {"forge_trace":1,
//    "scheduler":{"num_blocks":6,"block_size":1,"max_batch_size":16},
//    "target":{...}}                             what the executor was built from, opaque here
//
// Every other line is one event, an object whose first key is its kind:
//   {"submit":{"seq":1,                          the id that the scheduler gave
//              "request":{"prompt":[73,106],     token ids
//                         "max_new_tokens":32,
//                         "sampling":{"temperature":0,"seed":0},
//                         "ignore_eos":false}}}
//   {"cancel":{"seq":1,"reason":"cancelled"}}    takes effect in the next step
//   {"step":{"step":7,                           the plan, see forge/core/step_plan.h
//            "admitted":[4],                     [seq, ...]
//            "resumed":[3],                      [seq, ...]
//            "preempted":[[2,"recompute"]],      [[seq, mode], ...]
//            "finished":[[1,"length"]],          [[seq, reason], ...]
//            "copies":[[0,5]],                   [[from, to], ...] blocks
//            "tables":[[4,0,0,2]],               [[seq, truncated_to, appended_first,
//                                                  appended_count], ...]
//            "appended_blocks":[9,8],            [block, ...]
//            "slices":[[4,0,2,0,true]],          [[seq, first, count, drafts, samples], ...]
//            "decodes":0},                       how many leading slices are decodes
//    "result":{"step":7,
//              "slices":[[4,0,1,"none",0]],      [[seq, first_token, token_count, signal,
//                                                  drafts], ...]
//              "tokens":[105],                   [token, ...]
//              "logits":["cbf29ce484222325"]},   a digest a token; absent if not recorded
//    "link":"84222325cbf29ce4"}                  RunDigest after this step
//
//   reason  none length eos stop cancelled error (none is not a reason to cancel)
//   signal  none eos error
//   mode    recompute swap
//
// Rules
//   - Empty lists are left out; every other field is always there; an unknown one is an error.
//   - Numbers are decimal integers; ids, seeds and steps use the full range of 64 bits.
//   - Digests are strings of 16 lower-case hexadecimal digits, because JSON readers in common
//     use keep only 53 bits of a number.
//   - The temperature is the shortest decimal that reads back as the same float; a trace holds
//     finite, non-negative ones only.
//   - Flat ranges lie inside their lists: appended_first + appended_count, first_token +
//     token_count, decodes. `logits` is as long as `tokens` or absent.
//   - A line ends with one newline, the last one too. A trace may end after any line.
//   - What changes the meaning of a field or adds one gets a new version number.
//
// Reading a value that was written gives an equal value.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/trace/trace_event.h"

namespace forge {

inline constexpr std::uint64_t kTraceVersion = 1;

/// Largest configuration that a trace may ask for; far above any real one, and small enough
/// that a damaged header cannot exhaust the memory.
inline constexpr SchedulerConfig kLargestTraceScheduler{
    .num_blocks = 1u << 22, .block_size = 1u << 14, .max_batch_size = 1u << 16};

/// One line each, without the newline.
/// Requires: temperatures are finite and not negative.
std::string to_json_line(const TraceHeader& header);
std::string to_json_line(const TraceEvent& event);

/// The reverse. Errors: a text that names the field, its value and what is accepted.
tl::expected<TraceHeader, std::string> header_from_json(const nlohmann::json& line);
tl::expected<TraceEvent, std::string> event_from_json(const nlohmann::json& line);

/// A digest as the format writes it: 16 lower-case hexadecimal digits.
std::string digest_text(std::uint64_t digest);

std::string_view name(PreemptionMode mode);
std::string_view name(FinishReason reason);
std::string_view name(FinishSignal signal);

}  // namespace forge
