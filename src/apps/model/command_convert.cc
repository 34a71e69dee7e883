// forge-model convert
#include <algorithm>
#include <iostream>

#include "model_commands.h"
#include "rewrite.h"

namespace forge::apps {
namespace {

using checkpoint::FileTensor;
using checkpoint::ModelFormat;
using checkpoint::WeightMix;

/// All matrices and, in SafeTensors, vectors too.
void set_types(quant::WeightType type, ModelFormat format, std::vector<FileTensor>& tensors) {
  for (FileTensor& tensor : tensors) {
    if (tensor.is_matrix() || format == ModelFormat::safetensors) {
      tensor.spec.type = formats::element_type(type);
    }
  }
}

/// IN has matrices that are quantized.
bool has_blocks(const Rewriting& job) {
  return std::ranges::any_of(job.tensors, [](const FileTensor& tensor) {
    return tensor.is_matrix() &&
           quant::block_elements(checkpoint::stored_type(*tensor.parts.front().matrix)) > 1;
  });
}

}  // namespace

int run_convert(const RewriteOptions& options) {
  WeightMix mix;
  if (!options.type.empty()) {
    const auto parsed = checkpoint::parse_weight_mix(options.type, {"F32", "F16", "BF16"});
    if (!parsed) return unusable_model(parsed.error());
    mix = *parsed;
  }
  auto job = prepare(options);
  if (!job) return unusable_model(job.error());
  if (options.type.empty()) {
    keep_types(job->out.format, job->tensors);
    mix.type = *formats::weight_type(job->tensors.front().spec.type);  // of the embedding
  } else {
    set_types(mix.type, job->out.format, job->tensors);
  }
  const bool coarse = has_blocks(*job);
  const auto done = rewrite(*job, mix);
  if (!done) return unusable_model(done.error());
  std::cout << summary(options.out, done->tensors);
  if (coarse && job->out.format == ModelFormat::safetensors) {
    std::cout << "note: SafeTensors has no blocks: matrices that were quantized are stored as "
              << (options.type.empty() ? "F16" : mix.name()) << " now\n";
  }
  for (const std::string& note : done->notes) std::cout << "note: " << note << '\n';
  return kModelDone;
}

}  // namespace forge::apps
