// RunRecord: what gave a run its bits, beside its options: a replay must have the same.
//
// A trace's header has it, beside the options (target_options.h). A run whose results are canonical
// (linear/numerics.h) replays equal on every target and machine that has its model; one whose
// results are native replays equal on a CPU with the instructions that it was recorded with; one
// whose results are fast, on a GPU, simulated or real, whose tensor cores have the same step
// (numerics/fast.h).
//
// Thread contract: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/model/weights_digest.h"
#include "forge/runtime/target_options.h"

namespace forge::runtime {

class LoadedModel;

/// What a model is, whatever its file is called.
struct ModelRecord {
  std::string config;   ///< model/config_digest.h, 16 hexadecimal digits
  std::string weights;  ///< model/weights_digest.h, 32 hexadecimal digits

  friend bool operator==(const ModelRecord&, const ModelRecord&) = default;
};

/// The vendor's library that had products of fast numerics (gpu::LibraryReport), as texts.
struct LibraryRecord {
  std::string name;                   ///< "cuBLASLt 13.1.0"
  std::vector<std::string> admitted;  ///< shape and algorithm
  std::vector<std::string> refused;   ///< shape, algorithm and reason

  friend bool operator==(const LibraryRecord&, const LibraryRecord&) = default;
};

/// What fast numerics were.
struct FastRecord {
  int version = 0;                            ///< numerics::kFastVersion
  std::string step;                           ///< numerics::StepModel::name
  std::optional<LibraryRecord> library = {};  ///< if one was tried; a replay may have another

  friend bool operator==(const FastRecord&, const FastRecord&) = default;
};

/// Traces of version 2 have numerics alone.
struct RunRecord {
  RunNumerics numerics = RunNumerics::canonical;  ///< numerics of the results, never automatic
  std::optional<FastRecord> fast = {};            ///< if those are fast
  std::string instructions;  ///< of products on a CPU, "AVX-512 BF16"; empty for a GPU
  std::optional<ModelRecord> model;
  std::optional<ModelRecord> draft;  ///< the draft model, if there is one

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

/// Digests of the weights that a target has loaded.
struct LoadedDigests {
  model::WeightsDigest model;
  std::optional<model::WeightsDigest> draft;  ///< of the draft model, if there is one
};

/// The record of a run of `model` on a target of `kind`, on this machine.
RunRecord record_of(const LoadedModel& model, TargetKind kind, const LoadedDigests& digests);

/// Whether `model`, whose record on a target of `kind` is `here`, gives the bits that were
/// recorded. Errors: the first field of the header that differs, with its value and the value here.
tl::expected<void, std::string> validate_replay(const RunRecord& recorded, const RunRecord& here,
                                                const LoadedModel& model, TargetKind kind);

}  // namespace forge::runtime
