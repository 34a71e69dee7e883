// StepRecording: how long each step of a run took, and what it had to do: what step times are
// fitted from (step_time_model.h) and held against (ledger.h).
//
// JSON lines, a header and then a line for each step that ran something (here over several):
//
//   {"forge_step_times":1,"target":"cpu","device":"AMD EPYC","instructions":"AVX-512 BF16",
//    "numerics":"native","model":"forge-tiny","config":"0c1b...","kv":"f32","threads":1,
//    "mode":"continuous","workload":"chat.jsonl","requests":24,"max_batch_size":16,
//    "max_batch_tokens":512,"drafts":0}
//   {"step":7,"execute_us":412.5,"policy_us":1.2,"decodes":3,"prompt_rows":48,"decode_keys":2110,
//    "prompt_keys":1176,"logit_rows":4,"arrived":[5],"tokens":[2,3,4,5]}
//
// Counts of nothing are left out. A request is its index in the workload. It arrives before the
// first step that could run it, so waiting for a step that is under way is no part of its time;
// "tokens" has the request of each token that the step yielded.
//
// Times are those of the steady clock; of a simulated GPU "execute_us" is its own estimate, and
// "policy_us" is 0.
//
// The plans of a run do not depend on its times (arrivals.h), so the steps of another run of the
// same workload differ in their times alone.
//
// Thread contract: values and pure functions.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "step_work.h"

namespace forge::apps {

/// What computed. Times of one target say nothing of another.
struct RecordedTarget {
  std::string kind;          ///< of runtime::TargetKind: cpu, sim or cuda
  std::string device;        ///< the processor's name, or the GPU's
  std::string instructions;  ///< of a CPU (runtime::RunRecord); may be empty
  std::string numerics;      ///< of runtime::RunNumerics
  std::string model;         ///< its name
  std::string config;        ///< digest of its shape (runtime::ModelRecord)
  std::string kv;            ///< numerics::KvType
  int threads = 1;

  friend bool operator==(const RecordedTarget&, const RecordedTarget&) = default;
};

/// What it was given. Two recordings that agree in this and in the target are repeats of a run.
struct RecordedWorkload {
  std::string mode;  ///< of BenchMode
  std::string name;  ///< of the workload's file, without its folder; or "synthetic"
  std::uint64_t requests = 0;
  std::uint64_t max_batch_size = 0;
  std::uint64_t max_batch_tokens = 0;
  std::uint64_t drafts = 0;

  friend bool operator==(const RecordedWorkload&, const RecordedWorkload&) = default;
};

struct RecordedStep {
  std::uint64_t step = 0;
  double execute_us = 0;  ///< in the target
  double policy_us = 0;   ///< in schedule() and commit(), and in recording a trace
  StepWork work;
  std::vector<std::uint32_t> arrived;  ///< requests, since the recorded step before
  std::vector<std::uint32_t> tokens;   ///< request of each; those of one side by side

  double us() const { return execute_us + policy_us; }

  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

struct StepRecording {
  RecordedTarget target;
  RecordedWorkload workload;
  std::vector<RecordedStep> steps;

  friend bool operator==(const StepRecording&, const StepRecording&) = default;
};

/// The members of a header.
nlohmann::ordered_json to_json(const RecordedTarget& target);
nlohmann::ordered_json to_json(const RecordedWorkload& workload);

/// Times are written in nanoseconds, so that what is read may differ from what was written by half
/// of one.
void write_recording(const StepRecording& recording, std::ostream& out);

/// Invariants of what is read: there are steps; each took some time, and has rows; a request is
/// below RecordedWorkload::requests, arrives once, and gets no tokens before.
/// Errors: the line, the member, its value and what is accepted.
tl::expected<StepRecording, std::string> read_recording(std::istream& in);

}  // namespace forge::apps
