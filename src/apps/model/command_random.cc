// forge-model random
#include <iostream>

#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/checkpoint/weight_mix.h"
#include "forge/checkpoint/write_model.h"
#include "forge/model/stored_shapes.h"
#include "model_commands.h"
#include "model_facts.h"
#include "output_path.h"
#include "random_rows.h"
#include "shapes.h"

namespace forge::apps {
namespace {

using checkpoint::FileTensor;
using checkpoint::ModelFormat;
using checkpoint::WeightMix;
using checkpoint::WrittenTensor;

struct RandomModel {
  const RandomOptions& options;
  OutputPath out;
  std::string config_json;
  model::ModelConfig config;
  WeightMix mix;
};

tl::expected<WeightMix, std::string> parse_type(const std::string& text, ModelFormat format) {
  std::vector<std::string> accepted = {"F32", "F16", "BF16"};
  if (format == ModelFormat::gguf) {
    const std::vector<std::string>& blocks = checkpoint::block_mixes();
    accepted.insert(accepted.end(), blocks.begin(), blocks.end());
  }
  return checkpoint::parse_weight_mix(text.empty() ? "F32" : text, accepted);
}

tl::expected<RandomModel, std::string> prepare_random(const RandomOptions& options) {
  const auto out = check_output({"", options.out, options.overwrite});
  if (!out) return tl::unexpected(out.error());
  const auto mix = parse_type(options.type, out->format);
  if (!mix) return tl::unexpected(mix.error());
  const auto text = shape_text(options.config);
  if (!text) return tl::unexpected(text.error());
  const auto config = checkpoint::parse_hf_config(*text, options.config);
  if (!config) return tl::unexpected("--config: " + to_string(config.error()));
  if (out->format == ModelFormat::gguf) {
    if (auto fits = checkpoint::check_for_gguf(config->model); !fits)
      return tl::unexpected(fits.error());
  }
  return RandomModel{options, *out, *text, config->model, *mix};
}

tl::expected<std::vector<WrittenTensor>, std::string> save(const RandomModel& model,
                                                           std::vector<FileTensor> tensors) {
  linear::ThreadPool threads(thread_count(model.options.threads));
  RandomRowSource source(model.options.seed, model.config);
  checkpoint::ModelRows rows{tensors, source, threads};
  if (model.out.format == ModelFormat::safetensors) {
    for (FileTensor& tensor : tensors) tensor.spec.type = formats::element_type(model.mix.type);
    rows.progress = progress_bar(model.out.path, rows.bytes());
    return write_safetensors(
        model.out.path,
        {{"config.json", checkpoint::config_with_type(model.config_json, model.mix.type)}}, rows);
  }
  choose_types(model.mix, model.config, tensors);
  rows.progress = progress_bar(model.out.path, rows.bytes());
  formats::GgufKeys keys;
  if (auto done = checkpoint::describe_in_gguf(model.config, keys); !done) {
    return tl::unexpected(done.error());
  }
  keys.set_text("general.name", "random " + model.options.config);
  keys.set_text("tokenizer.ggml.model", "none");
  keys.set_u32("general.file_type", gguf_file_type(model.mix));
  keys.set_u32("general.quantization_version", 2);
  return write_gguf(model.out.path, keys.metadata(), rows);
}

}  // namespace

int run_random(const RandomOptions& options) {
  const auto model = prepare_random(options);
  if (!model) return unusable_model(model.error());
  const model::StoredModel shapes = model_shapes(model->config);
  std::vector<FileTensor> tensors = file_tensors(model->config, shapes, model->out.format);
  const auto tables = checkpoint::rope_tables(model->config.rope);
  for (const checkpoint::RopeTable& table : tables) {
    if (model->out.format == ModelFormat::gguf) tensors.push_back(checkpoint::rope_tensor(table));
  }
  const auto written = save(*model, std::move(tensors));
  if (!written) return unusable_model(written.error());
  const std::uint64_t parameters = count_parameters(model->config, shapes).total;
  std::cout << summary(options.out, *written, std::to_string(parameters) + " parameters, ");
  return kModelDone;
}

}  // namespace forge::apps
