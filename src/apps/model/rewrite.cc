#include "rewrite.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "gguf_description.h"
#include "json_description.h"
#include "tokeniser_keys.h"

namespace forge::apps {
namespace {

namespace fs = std::filesystem;

/// Files beside SafeTensors are kept whole in the metadata of GGUF under these keys, so that the
/// way back gives the same files. The first key is of the format, the others are Forge's own.
struct KeptFile {
  const char* name;
  const char* key;
};
constexpr KeptFile kKeptFiles[] = {{"tokenizer.json", "tokenizer.huggingface.json"},
                                   {"tokenizer_config.json", "forge.tokenizer_config.json"},
                                   {"generation_config.json", "forge.generation_config.json"},
                                   {"config.json", "forge.config.json"}};

fs::path folder_of(const std::string& path) {
  return fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
}

std::string name_of_path(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).stem().string();
}

/// The text of a kept file of IN, whatever its format.
std::optional<std::string> kept_text(const Rewriting& job, const KeptFile& file) {
  if (const formats::Gguf* const gguf = job.checkpoint->gguf()) {
    const auto text = gguf->text(file.key);
    return text ? std::optional(std::string(*text)) : std::nullopt;
  }
  return read_text_file((folder_of(job.options.in) / file.name).string());
}

/// The metadata of a GGUF file made from IN, and notes.
tl::expected<std::vector<std::string>, std::string> add_keys(const Rewriting& job,
                                                             const WeightMix& mix, GgufKeys& keys) {
  std::vector<std::string> notes;
  if (const formats::Gguf* const gguf = job.checkpoint->gguf()) {
    for (const auto& [key, value] : gguf->metadata()) {
      if (key != "general.alignment") keys.set(key, value);
    }
  } else {
    if (auto done = describe_in_gguf(job.checkpoint->config(), keys); !done) {
      return tl::unexpected(done.error());
    }
    keys.set_text("general.name", name_of_path(job.options.in));
    notes = add_tokeniser(folder_of(job.options.in).string(),
                          job.checkpoint->config().vocabulary_size, keys);
    for (const KeptFile& file : kKeptFiles) {
      if (auto text = kept_text(job, file)) keys.set_text(file.key, *std::move(text));
    }
  }
  keys.set_u32("general.file_type", gguf_file_type(mix));
  keys.set_u32("general.quantization_version", 2);
  return notes;
}

tl::expected<Rewritten, std::string> rewrite_gguf(Rewriting& job, const WeightMix& mix,
                                                  const ModelRows& rows) {
  GgufKeys keys;
  auto notes = add_keys(job, mix, keys);
  if (!notes) return tl::unexpected(notes.error());
  auto written = save_gguf(job.out.path, keys, rows);
  if (!written) return tl::unexpected(written.error());
  return Rewritten{*std::move(written), *std::move(notes)};
}

tl::expected<Rewritten, std::string> rewrite_safetensors(Rewriting& job, const WeightMix& mix,
                                                         const ModelRows& rows) {
  std::map<std::string, std::string> files;
  for (const KeptFile& file : kKeptFiles) {
    if (auto text = kept_text(job, file)) files[file.name] = *std::move(text);
  }
  if (files.contains("config.json")) {
    files["config.json"] = config_with_type(files["config.json"], mix.type);
  } else {
    auto text = config_text(job.checkpoint->config(), mix.type);
    if (!text) return tl::unexpected(text.error());
    files["config.json"] = *std::move(text);
  }
  std::vector<std::string> notes;
  if (!files.contains("tokenizer.json")) {
    notes.emplace_back("no tokenizer.json is written: " + job.options.in + " has none");
  }
  auto written = save_safetensors(job.out.path, files, rows);
  if (!written) return tl::unexpected(written.error());
  return Rewritten{*std::move(written), std::move(notes)};
}

/// Whether keys and values are made from latents by matrices of each head.
bool latent_by_heads(const model::StoredModel& model) {
  return std::ranges::any_of(model.layers, [](const model::StoredLayer& layer) {
    const auto* const latent = std::get_if<model::StoredLatent>(&layer.attention);
    return latent != nullptr && !latent->key_up.empty();
  });
}

}  // namespace

tl::expected<Rewriting, std::string> prepare(const RewriteOptions& options) {
  auto out = check_output({options.in, options.out, options.overwrite});
  if (!out) return tl::unexpected(out.error());
  auto opened = checkpoint::Checkpoint::open(options.in);
  if (!opened) return tl::unexpected("IN: " + to_string(opened.error()));
  auto checkpoint = std::make_unique<const checkpoint::Checkpoint>(*std::move(opened));
  if (out->format == ModelFormat::gguf && latent_by_heads(checkpoint->model())) {
    return tl::unexpected(
        std::string("IN: attn_k_b and attn_v_b, by heads, cannot be written as GGUF; accepted is a "
                    "whole attn_kv_b, and OUT may be a directory"));
  }
  if (out->format == ModelFormat::gguf && checkpoint->gguf() == nullptr) {
    if (auto fits = check_for_gguf(checkpoint->config()); !fits) {
      return tl::unexpected(fits.error());
    }
  }
  auto tensors = output_tensors(checkpoint->config(), checkpoint->model(), out->format);
  if (!tensors) return tl::unexpected(tensors.error());
  return Rewriting{options, *std::move(out), std::move(checkpoint), *std::move(tensors)};
}

tl::expected<Rewritten, std::string> rewrite(Rewriting& job, const WeightMix& mix) {
  linear::ThreadPool threads(thread_count(job.options.threads));
  StoredRowSource source(*job.checkpoint);
  std::vector<OutputTensor> tensors = job.tensors;
  const auto divisors = rope_divisors(job.checkpoint->config().rope);
  const bool gguf = job.out.format == ModelFormat::gguf;
  if (gguf && divisors) tensors.push_back(rope_tensor(*divisors));
  const ModelRows rows{tensors, source, threads, "writing " + job.out.path};
  auto done = gguf ? rewrite_gguf(job, mix, rows) : rewrite_safetensors(job, mix, rows);
  if (done && !job.checkpoint->unused().empty()) {
    done->notes.push_back(std::to_string(job.checkpoint->unused().size()) +
                          " tensors that Forge has no use for are left out, the first of them '" +
                          job.checkpoint->unused().front() + "'");
  }
  return done;
}

}  // namespace forge::apps
