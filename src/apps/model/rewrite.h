// What convert and quantize have in common: a checkpoint is opened, its tensors get types, and all
// of it is written in one of the two formats, with the tokeniser.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "model_commands.h"
#include "save_model.h"
#include "weight_mix.h"

namespace forge::apps {

struct Rewriting {
  RewriteOptions options;
  OutputPath out;
  std::unique_ptr<const checkpoint::Checkpoint> checkpoint;  ///< which stays where it is
  std::vector<OutputTensor> tensors;                         ///< borrow from its model
};

/// Opens IN and lists what OUT will have. Errors: of check_output, Checkpoint and output_tensors.
tl::expected<Rewriting, std::string> prepare(const RewriteOptions& options);

struct Rewritten {
  std::vector<WrittenTensor> tensors;
  std::vector<std::string> notes;  ///< on what OUT does not have
};

/// Writes OUT. `mix` is what general.file_type and config.json say of its types. Errors: those of
/// save_model.h, and what OUT's format cannot say of the model.
tl::expected<Rewritten, std::string> rewrite(Rewriting& job, const WeightMix& mix);

}  // namespace forge::apps
