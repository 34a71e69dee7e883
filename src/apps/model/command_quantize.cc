// forge-model quantize
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "model_commands.h"
#include "rewrite.h"

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

}  // namespace

int run_quantize(const RewriteOptions& options) {
  const auto mix = checkpoint::parse_weight_mix(options.type,
                                                {"Q8_0", "Q4_0", "Q4_K", "Q4_K_M", "Q5_K", "Q6_K"});
  if (!mix) return unusable_model(mix.error());
  auto job = prepare(options);
  if (!job) return unusable_model(job.error());
  if (job->out.format != checkpoint::ModelFormat::gguf) {
    return unusable_model("OUT: '" + options.out + "' has no type " + mix->name() +
                          "; accepted is NAME.gguf");
  }
  const std::vector<checkpoint::Fallback> fallbacks =
      choose_types(*mix, job->checkpoint->config(), job->tensors);
  const auto done = rewrite(*job, *mix);
  if (!done) return unusable_model(done.error());
  print_table(done->tensors);
  std::cout << summary(options.out, done->tensors);
  for (const checkpoint::Fallback& one : fallbacks) {
    std::cout << "note: " << one.tensor << " is " << name_of(one.given) << ": its rows of "
              << one.row_elements << " numbers are no multiple of "
              << quant::block_elements(one.wanted) << ", as " << name_of(one.wanted) << " needs\n";
  }
  for (const std::string& note : done->notes) std::cout << "note: " << note << '\n';
  return kModelDone;
}

}  // namespace forge::apps
