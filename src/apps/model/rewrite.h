// What convert and quantize have in common: a checkpoint is opened, its tensors get types, and all
// of it is written in one of the two formats, with the tokenizer.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/checkpoint/weight_mix.h"
#include "forge/checkpoint/write_model.h"
#include "model_commands.h"
#include "output_path.h"

namespace forge::apps {

struct Rewriting {
  RewriteOptions options;
  OutputPath out;
  std::unique_ptr<const checkpoint::Checkpoint> checkpoint;  ///< stays where it is
  std::vector<checkpoint::FileTensor> tensors;               ///< borrow from its model
  checkpoint::Importance importance;                         ///< of columns, or empty
};

/// Opens IN and lists what OUT will have. Errors: those of check_output and Checkpoint, or OUT's
/// format cannot say the model.
tl::expected<Rewriting, std::string> prepare(const RewriteOptions& options);

struct Rewritten {
  std::vector<checkpoint::WrittenTensor> tensors;
  std::vector<std::string> notes;  ///< on what OUT does not have
};

/// Writes OUT. `mix` is what general.file_type and config.json say of its types. Errors: those of
/// write_model.h, and what OUT's format cannot say of the model.
tl::expected<Rewritten, std::string> rewrite(Rewriting& job, const checkpoint::WeightMix& mix);

}  // namespace forge::apps
