// The "target" of a trace's header: made from options and the record of a run, and read back.
//
//   {"kind":"cpu","numerics":"canonical","instructions":"AVX-512",
//    "model":{"vocabulary_size":320,"hidden_size":64,"layers":4,"heads":4,"kv_heads":2,
//             "head_size":16,"ffn_size":128,"rope_base":10000.0,"norm_eps":9.99...e-06,"seed":1,
//             "config":"0c1b...","weights":"93a0..."},
//    "drafts":0,"draft_layers":2,"digest_logits":true,"eos":0}
//
// Numerics are those of the results, with "fast":{"version":1,"step":"mma-sm90"} beside "fast"
// (numerics/fast.h), and in it, where a vendor's library was tried for products of many rows,
// "library":{"name":"cuBLASLt 13.1.0","admitted":["512 x 4096 x 4096 bf16: ..."],"refused":[...]}
// (gpu/matrix_library.h); instructions the CPU's (run_record.h); config and weights are
// digests of what the model was; eos is a token or a list of them. Other runs have, instead,
//
//   "kind":"sim","device":"simulated NVIDIA H200 ...": a GPU, or "cuda"; without instructions
//   "model":{"trained":"forge-tiny","config":...,"weights":...}: the one that is linked in
//   "model":{"path":"models/x.gguf","config":...,"weights":...}: a model from a file
//     and in "model", after --lora, "lora":[{"path":"adapters/z","scale":0.5}]: its adapters, which
//     are part of what "weights" is the digest of
//   "kv":"bf16" or "f16": the type of KV; without it "f32" (numerics/kv_type.h)
//   "draft_source":"ngram": the text drafts
//   "draft":{"path":"models/y.gguf","config":...,"weights":...}: another model drafts
//
// or {"kind":"null","drafts":0}: the policy alone ran. In a trace of version 2, which is read, too,
// the numerics are "canonical-fp32" or "native", there is "acceptance":"shared_noise", the draft
// model is a path in "model", and there are neither instructions nor digests.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "forge/runtime/run_record.h"
#include "forge/runtime/target_options.h"

namespace forge::trace {
struct TraceHeader;
}

namespace forge::runtime {

/// `record` is not used for a null target.
trace::TraceHeader to_trace_header(const TargetOptions& options, const RunRecord& record = {},
                                   const std::string& device_name = {});

/// What a trace says of its run.
struct RecordedRun {
  TargetOptions options;  ///< valid, with the default device, whatever the trace names
  RunRecord record;
};

/// Errors: those of validate(); a target of another form, by field.
tl::expected<RecordedRun, std::string> from_trace_header(const trace::TraceHeader& header);

}  // namespace forge::runtime
