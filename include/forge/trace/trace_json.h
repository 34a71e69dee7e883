// The trace format, version 10: JSON lines, one event a line, in the order of the run.
//
// Line 1, the header:
//   {"forge_trace":10,                           the version of the format
//    "scheduler":{"num_blocks":6,...},           every field of scheduler_config.h
//    "target":{...},                             what the executor was built from, opaque here
//    "tokens":"exposed"}                         or "veiled" (token_veil.h)
//
// Every other line is one event, an object whose first key is its kind:
//   {"submit":{"seq":1,                          the id that the scheduler gave
//              "request":{"prompt":[73,106],     token ids
//                         "max_new_tokens":32,
//                         "sampling":{"temperature":0,"seed":0,
//                                     "logit_bias":[],  [[token, bias], ...]
//                                     "repetition_penalty":1,"presence_penalty":0,
//                                     "frequency_penalty":0,
//                                     "grammar":{"forms":[   core/output_grammar.h
//                                         {"kind":"json_schema","text":"{...}",
//                                          "prefix":"","suffix":""}],
//                                       "after":"",
//                                       "row":{"open":"","between":"","close":""}},
//                                     "top_k":0,"top_p":1,"min_p":0,"logprobs":5,
//                                     "prompt_logprobs":false,"margins":false},
//                         "ignore_eos":false,
//                         "priority":"normal",
//                         "prefix_cache":"auto",
//                         "deadline_steps":0,
//                         "session":7,
//                         "cache_salt":"0000000000000000",
//                         "client":"0000000000000000",
//                         "user":"0000000000000000",
//                         "weight":1},
//              "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}}   of W3C Trace Context
//   {"cancel":{"seq":1,"reason":"cancelled"}}    takes effect in the next step
//   {"release_session":{"session":7}}            its KV is no longer kept
//   {"clear_prefix_cache":{}}                    nothing is found in it until more is published
//   {"step":{"step":7,                           the plan, see forge/core/step_plan.h
//            "admitted":[[4,0]],                 [[seq, cached_tokens], ...]
//            "resumed":[[3,32]],                 [[seq, cached_tokens], ...]
//            "preempted":[[2,"recompute"]],      [[seq, mode], ...]
//            "finished":[[1,"length"]],          [[seq, reason], ...]
//            "copies":[["within",0,5]],          [[kind, from, to], ...] blocks
//            "tables":[[4,0,0,2]],               [[seq, truncated_to, appended_first,
//                                                  appended_count], ...]
//            "appended_blocks":[9,8],            [block, ...]
//            "slices":[[4,0,1,0,true]],          [[seq, first, count, drafts, samples], ...]
//            "decodes":0},                       how many leading slices are decodes
//    "result":{"step":7,
//              "slices":[[4,0,1,"none",0]],      [[seq, first_token, token_count, signal,
//                                                  drafts], ...]
//              "tokens":[105],                   [token, ...]
//              "logits":["cbf29ce484222325"],    a digest a token; absent if not recorded
//              "reports":[[4,9,105,-0.25,0,0,2]],  [[seq, position, token, logprob, margin,
//                                                    first_likely, likely_count], ...]
//              "likely":[[105,-0.25],[7,-2.5]],  [[token, logprob], ...]
//              "kv_lost":false},                 the target was lost, and opened again
//    "cache":{"cleared":false,                   see forge/core/cache_delta.h
//             "removed":[5],                     [block, ...]
//             "stored":[[9,4,0],[8,4,1,9]]},     [[block, seq, place, parent], ...]
//    "link":"84222325cbf29ce4"}                  RunDigest after this step
//
// The files of a recording that went on in new ones begin, but for the first, with the state right
// after a step, in place of all that was before (core/scheduler_snapshot.h):
//   {"snapshot":{"next_step":8,"next_seq":5,     what comes next is called so
//                "sequences":[{"seq":4,"state":"decoding","prompt_tokens":2,...}],
//                "running":[4],"finishing":[],   ids
//                "cache":{"free":[3,2],          blocks; the last one is taken first
//                         "cached":[[9,[73,106],"0000000000000000",8]],
//                                                [[block, tokens, salt, parent], ...]
//                         "unused":[],           blocks; the first one is evicted first
//                         "tables":[[4,2,1,true,[9]]]},
//                                                [[seq, tokens, published, publishes, blocks], ...]
//                "host":{...},                   the same of the host's memory
//                "shares":{"turns":4,"floor":1000,
//                          "clients":[["0000000000000000",0,4,1000,
//                                      [["0000000000000000",0,3]]]]},
//                                                [[client, served, turn, floor, users], ...] and
//                                                [[user, served, turn], ...]
//                "sessions":[[7,5,[9]]]},        [[session, idle_since, pinned], ...]
//    "requests":[{"seq":4,"request":{...},       as they were submitted ...
//                 "before":5,                    ... before this step ...
//                 "output":[105],                ... and their tokens so far
//                 "told":1}],                    see PastRun in core/executor.h
//    "link":"84222325cbf29ce4"}                  RunDigest after the step before
//
//   state         waiting prefilling decoding finishing
//   reason        none length eos stop cancelled error deadline (none is not a reason to cancel)
//   signal        none eos error not_finite no_token grammar_limit
//   mode          recompute swap
//   kind          within swap_out swap_in
//   priority      low normal high
//   prefix_cache  auto disable (of a request), none radix hash (of the scheduler)
//   preemption    auto recompute swap (of the scheduler)
//   draft_lengths fixed adaptive (of the scheduler)
//
// What is left out, because most lines are decodes and say the same
//   - "tokens" of the header, if they are exposed.
//   - Empty lists; kv_lost, if it is false; "cache", if nothing changed in it, and `cleared` of it,
//     if it is false.
//   - Each field of a request, but prompt and max_new_tokens, that has the value shown above, as
//     has `sampling` if nothing else is asked for; `session` if there is none.
//   - Each field of `sampling`, but temperature and seed, that has the value shown above;
//     `logprobs` if none are asked for, `grammar` if there is none, and of one all that is empty.
//   - Of the scheduler draft_lengths, if they are fixed, and draft_break_even, if it is 30;
//     memory_pressure, if it is 100, decode_priority, if it is 0, and prefix_cache_max, if it is
//     4294967295.
//   - `trace_id`, if there is none; `told`, if it is 1.
//   - Of a snapshot: `requests`, if there are none; of a cache, what is empty; of a sequence, but
//     seq and state, each field that is 0, false, none or, as priority and weight, as in a request.
//   - The last values of a row that are the usual ones:
//       admitted, resumed  cached_tokens 0               [4,0]            is [4]
//       preempted          mode recompute                [2,"recompute"]  is [2]
//       tables             appended_count 1              [4,3,0,1]        is [4,3,0]
//       slices             count 1, drafts 0, samples    [4,9,1,0,true]   is [4,9]
//       result.slices      token_count 1, none, drafts 0 [4,0,1,"none",0] is [4,0]
//       result.reports     margin 0, no likely tokens    [4,9,7,-1,0,0,0] is [4,9,7,-1]
//       cache.stored       no parent: at the start       there is no other way to say so
//       cached             salt 0, no parent             likewise, of the parent
//       clients, sessions  no users, nothing pinned      there is no other way to say so
//     A reader takes them written out, too.
//
// Rules
//   - Every other field is always there; an unknown one is an error.
//   - Numbers are decimal integers; ids, seeds and steps use the full range of 64 bits.
//   - Digests are strings of 16 lower-case hexadecimal digits, because JSON readers in common
//     use keep only 53 bits of a number.
//   - Fields of `sampling` that are no integers are the shortest decimals that read back as the
//     same float; all are in the ranges of core/sampling_params.h.
//   - Flat ranges lie inside their lists: appended_first + appended_count, first_token +
//     token_count, decodes. `logits` is as long as `tokens` or absent.
//   - A line ends with one newline, the last one too. A trace may end after any line.
//   - A snapshot stands after a header, and nowhere else. Files that follow each other are a trace
//     when they are put together: where a header stands again it is the same, and a snapshot
//     follows.
//   - What changes the meaning of a field, adds one or changes what is usual gets a new version
//     number. Version 9 had no snapshot and no trace_id. Version 8 had no "cache" and no kv_lost.
//     Version 7 had no client, user and weight, and of the scheduler nothing from memory_pressure
//     on. Version 6 had no cache_salt and no "tokens". Version 5 had no draft_lengths, and
//     prefix_cache "force", read as "auto". Version 4 had no `grammar` and not the last two
//     signals. Of `sampling`, version 3 had temperature and seed alone; version 2 has another
//     "target", whose readers are told the version. All are read; version 1 is refused.
//
// Size: a decode takes about 30 bytes (50 with the digest of its logits), a token of a prompt 4 to
// 7; `forge-trace stats` says what a given trace is made of.
//
// Reading a value that was written gives an equal value.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/core/scheduler_config.h"
#include "forge/trace/trace_event.h"

namespace forge::trace {

struct TraceHeader;

inline constexpr std::uint64_t kTraceVersion = 10;
inline constexpr std::uint64_t kOldestTraceVersion = 2;  ///< the oldest that is read

/// One line each, without the newline.
/// Requires: the numbers of sampling parameters are finite.
std::string to_json_line(const TraceHeader& header);
std::string to_json_line(const TraceEvent& event);

/// The reverse of to_json_line(). Errors: a text that names the field, its value and what is
/// accepted.
tl::expected<TraceHeader, std::string> header_from_json(const nlohmann::json& line);
tl::expected<TraceEvent, std::string> event_from_json(const nlohmann::json& line);

/// A digest as the format writes it: 16 lower-case hexadecimal digits.
std::string digest_text(std::uint64_t digest);

}  // namespace forge::trace
