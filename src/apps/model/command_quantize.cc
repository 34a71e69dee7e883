// forge-model quantize
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "calibration.h"
#include "model_commands.h"
#include "rewrite.h"
#include "token_pass.h"

namespace forge::apps {
namespace {

using checkpoint::WrittenTensor;

constexpr int kNameWidth = 30;

void print_line(const std::string& name, std::string_view type, std::uint64_t bytes,
                const quant::QuantizationError& error) {
  const double bits = 8 * static_cast<double>(bytes) / static_cast<double>(error.count);
  std::cout << std::left << std::setw(kNameWidth) << name << std::right << std::setw(6) << type
            << std::fixed << std::setprecision(2) << std::setw(8) << bits << std::setprecision(5)
            << std::setw(12) << error.relative() << std::scientific << std::setprecision(2)
            << std::setw(12) << error.max_error << std::defaultfloat << '\n';
}

void print_table(const std::vector<WrittenTensor>& tensors) {
  std::cout << std::left << std::setw(kNameWidth) << "tensor" << std::right << std::setw(6)
            << "type" << std::setw(8) << "bits" << std::setw(12) << "rel. error" << std::setw(12)
            << "max error" << '\n';
  quant::QuantizationError all;
  std::uint64_t bytes = 0;
  for (const WrittenTensor& tensor : tensors) {
    print_line(tensor.name, name_of(tensor.type), tensor.bytes, tensor.error);
    all.add(tensor.error);
    bytes += tensor.bytes;
  }
  print_line("total", "", bytes, all);
}

/// Runs the text through the model and keeps how large the inputs of its matrices are. Returns: how
/// many tokens it has.
tl::expected<std::size_t, std::string> calibrate(const RewriteOptions& options, Rewriting& job) {
  const auto text = read_text_file(options.calibrate);
  if (!text) return tl::unexpected("--calibrate: '" + options.calibrate + "' cannot be read");
  const auto tokens = tokens_of_text(*job.checkpoint, options.in, *text);
  if (!tokens) return tl::unexpected("--calibrate: " + tokens.error());
  if (tokens->empty()) {
    return tl::unexpected("--calibrate: '" + options.calibrate + "' has no tokens");
  }
  auto pass = TokenPass::open(*job.checkpoint, thread_count(options.threads));
  if (!pass) return tl::unexpected("IN: " + pass.error());
  const model::ModelConfig& config = job.checkpoint->config();
  Calibration calibration(config);
  calibration.add(*pass, *tokens,
                  static_cast<std::size_t>(std::min(config.positions, kWindowDefault)));
  job.importance = calibration.importance(job.tensors);
  return tokens->size();
}

}  // namespace

int run_quantize(const RewriteOptions& options) {
  const auto mix = checkpoint::parse_weight_mix(options.type, checkpoint::block_mixes());
  if (!mix) return unusable_model(mix.error());
  auto job = prepare(options);
  if (!job) return unusable_model(job.error());
  if (job->out.format != checkpoint::ModelFormat::gguf) {
    return unusable_model("OUT: '" + options.out + "' has no type " + mix->name() +
                          "; accepted is NAME.gguf");
  }
  const std::vector<checkpoint::Fallback> fallbacks =
      choose_types(*mix, job->checkpoint->config(), job->tensors);
  std::string calibrated;
  if (!options.calibrate.empty()) {
    const auto tokens = calibrate(options, *job);
    if (!tokens) return unusable_model(tokens.error());
    calibrated = "note: errors of " + std::to_string(job->importance.size()) +
                 " matrices count by their inputs on " + std::to_string(*tokens) + " tokens\n";
  }
  const auto done = rewrite(*job, *mix);
  if (!done) return unusable_model(done.error());
  print_table(done->tensors);
  std::cout << summary(options.out, done->tensors) << calibrated;
  for (const checkpoint::Fallback& one : fallbacks) {
    std::cout << "note: " << one.tensor << " is " << name_of(one.given) << ": its rows of "
              << one.row_elements << " numbers are no multiple of "
              << quant::block_elements(one.wanted) << ", as " << name_of(one.wanted) << " needs\n";
  }
  for (const std::string& note : done->notes) std::cout << "note: " << note << '\n';
  return kModelDone;
}

}  // namespace forge::apps
