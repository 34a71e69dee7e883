// bench_model: how fast a model from a file runs, and how far that is from what the machine can do.
//
//   prefill   one prompt in one forward pass: bound by arithmetic. Operations of the matrix
//             products (2 for each weight and row) over the peak of the instruction that they use.
//   decode    a token for each of so many sequences: bound by memory while they are few. Bytes of
//             weights over the rate at which memory is read.
//
// What the machine can do is measured before and after all passes, while nothing else runs. Ratios
// are of the best of each, tokens/s are medians. Logits are computed for the
// rows that a server would need, sampling is not part of it. The prompt is made up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "forge/numerics/kv_type.h"
#include "forge/runtime/loaded_model.h"
#include "profile_report.h"

namespace forge::apps {

struct ModelBenchCase {
  std::string name;      ///< "prefill 512", "decode 1"
  bool prefill = false;  ///< or decode
  int rows = 0;          ///< rows of a pass: tokens of the prompt, or sequences
  double seconds = 0;    ///< time of a pass, median
  double best_seconds = 0;
  /// For prefill, the rate of arithmetic over the peak. None where the machine has no mark for it.
  std::optional<double> of_peak;
  /// For decode, the rate of reading weights over the read rate. None for a mixture of experts,
  /// whose passes do not read all.
  std::optional<double> of_read_rate;

  double tokens_per_second() const { return rows / seconds; }
};

struct ModelBenchResult {
  std::string model;
  std::string instructions;  ///< those of most weights' products: "AVX-512 VNNI"
  int threads = 0;
  int prompt_tokens = 0;
  int context_tokens = 0;  ///< of each sequence that decodes
  numerics::KvType kv_type = numerics::KvType::f32;
  std::size_t weight_bytes = 0;
  double load_seconds = 0;              ///< from opening the file until the weights are packed
  double read_bytes_per_s = 0;          ///< the machine's limit
  std::optional<double> peak_op_per_s;  ///< likewise, of the instruction used
  std::vector<ModelBenchCase> cases;
  std::vector<NamedProfile> profiles;  ///< of each case, if asked for
  bool interrupted = false;
};

/// Runs prefill of up to 512 tokens and decode of 1, 2, 4, .. 32 sequences, with KV of that type.
/// `progress` is called with the cases done; false ends the run after the next pass.
ModelBenchResult bench_model(const runtime::LoadedModel& model, numerics::KvType kv_type,
                             bool profiled, const std::function<bool(std::size_t done)>& progress);

/// Cases of a complete run.
std::size_t model_bench_cases();

}  // namespace forge::apps
