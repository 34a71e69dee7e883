// forge-model random
#include <iostream>

#include "forge/checkpoint/hf_config.h"
#include "gguf_description.h"
#include "json_description.h"
#include "kv_memory.h"
#include "model_commands.h"
#include "random_rows.h"
#include "save_model.h"
#include "shapes.h"
#include "weight_mix.h"

namespace forge::apps {
namespace {

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
    accepted.insert(accepted.end(), {"Q8_0", "Q4_0", "Q4_K", "Q4_K_M", "Q5_K", "Q6_K"});
  }
  return parse_weight_mix(text.empty() ? "F32" : text, accepted);
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
    if (auto fits = check_for_gguf(config->model); !fits) return tl::unexpected(fits.error());
  }
  return RandomModel{options, *out, *text, config->model, *mix};
}

tl::expected<std::vector<WrittenTensor>, std::string> save(const RandomModel& model,
                                                           std::vector<OutputTensor> tensors) {
  linear::ThreadPool threads(thread_count(model.options.threads));
  RandomRowSource source(model.options.seed);
  const ModelRows rows{tensors, source, threads, "writing " + model.out.path};
  if (model.out.format == ModelFormat::safetensors) {
    for (OutputTensor& tensor : tensors) tensor.spec.type = formats::element_type(model.mix.type);
    return save_safetensors(model.out.path,
                            {{"config.json", config_with_type(model.config_json, model.mix.type)}},
                            rows);
  }
  choose_types(model.mix, model.config, tensors);
  GgufKeys keys;
  if (auto done = describe_in_gguf(model.config, keys); !done) {
    return tl::unexpected(done.error());
  }
  keys.set_text("general.name", "random " + model.options.config);
  keys.set_text("tokenizer.ggml.model", "none");
  keys.set_u32("general.file_type", gguf_file_type(model.mix));
  keys.set_u32("general.quantization_version", 2);
  return save_gguf(model.out.path, keys, rows);
}

}  // namespace

int run_random(const RandomOptions& options) {
  const auto model = prepare_random(options);
  if (!model) return unusable_model(model.error());
  model::StoredModel shapes = shapes_of(model->config);
  auto tensors = output_tensors(model->config, shapes, model->out.format);
  if (!tensors) return unusable_model(tensors.error());
  const auto divisors = rope_divisors(model->config.rope);
  if (divisors && model->out.format == ModelFormat::gguf) {
    tensors->push_back(rope_tensor(*divisors));
  }
  const auto written = save(*model, *std::move(tensors));
  if (!written) return unusable_model(written.error());
  std::uint64_t bytes = 0;
  for (const WrittenTensor& tensor : *written) bytes += tensor.bytes;
  std::cout << options.out << ": " << written->size() << " tensors, "
            << count_parameters(model->config, shapes).total << " parameters, " << bytes_text(bytes)
            << '\n';
  return kModelDone;
}

}  // namespace forge::apps
