#include "rewrite.h"

#include <filesystem>
#include <utility>

#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/text/save_tokenizer.h"

namespace forge::apps {
namespace {

namespace fs = std::filesystem;
using checkpoint::FileTensor;
using checkpoint::ModelFormat;
using checkpoint::ModelRows;
using checkpoint::StoredRowSource;
using checkpoint::WeightMix;

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
  return read_text_file((fs::path(checkpoint::directory_of(job.options.in)) / file.name).string());
}

/// The metadata of a GGUF file made from IN, and notes.
tl::expected<std::vector<std::string>, std::string> add_keys(const Rewriting& job,
                                                             const WeightMix& mix,
                                                             formats::GgufKeys& keys) {
  std::vector<std::string> notes;
  if (const formats::Gguf* const gguf = job.checkpoint->gguf()) {
    for (const auto& [key, value] : gguf->metadata()) {
      if (key != "general.alignment") keys.set(key, value);
    }
  } else {
    if (auto done = checkpoint::describe_in_gguf(job.checkpoint->config(), keys); !done) {
      return tl::unexpected(done.error());
    }
    keys.set_text("general.name", name_of_path(job.options.in));
    notes = text::save_tokenizer(checkpoint::directory_of(job.options.in),
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
  formats::GgufKeys keys;
  auto notes = add_keys(job, mix, keys);
  if (!notes) return tl::unexpected(notes.error());
  auto written = write_gguf(job.out.path, keys.metadata(), rows);
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
    files["config.json"] = checkpoint::config_with_type(files["config.json"], mix.type);
  } else {
    auto text = checkpoint::config_text(job.checkpoint->config(), mix.type);
    if (!text) return tl::unexpected(text.error());
    files["config.json"] = *std::move(text);
  }
  std::vector<std::string> notes;
  if (!files.contains("tokenizer.json")) {
    notes.emplace_back("no tokenizer.json is written: " + job.options.in + " has none");
  }
  auto written = write_safetensors(job.out.path, files, rows);
  if (!written) return tl::unexpected(written.error());
  return Rewritten{*std::move(written), std::move(notes)};
}

}  // namespace

tl::expected<Rewriting, std::string> prepare(const RewriteOptions& options) {
  auto out = check_output({options.in, options.out, options.overwrite});
  if (!out) return tl::unexpected(out.error());
  auto opened = checkpoint::Checkpoint::open(options.in);
  if (!opened) return tl::unexpected("IN: " + to_string(opened.error()));
  auto checkpoint = std::make_unique<const checkpoint::Checkpoint>(*std::move(opened));
  if (out->format == ModelFormat::gguf && checkpoint->gguf() == nullptr) {
    if (auto fits = checkpoint::check_for_gguf(checkpoint->config()); !fits) {
      return tl::unexpected(fits.error());
    }
  }
  // Metadata that are copied say how keys and values of latents lie, so they stay as they are.
  const model::LatentLayout layout = checkpoint->gguf() == nullptr
                                         ? model::LatentLayout::by_heads
                                         : checkpoint::layout_of(checkpoint->model());
  auto tensors = file_tensors(checkpoint->config(), checkpoint->model(), out->format, layout);
  return Rewriting{options, *std::move(out), std::move(checkpoint), std::move(tensors), {}};
}

tl::expected<Rewritten, std::string> rewrite(Rewriting& job, const WeightMix& mix) {
  linear::ThreadPool threads(thread_count(job.options.threads));
  StoredRowSource source(*job.checkpoint);
  source.set_importance(job.importance);
  std::vector<FileTensor> tensors = job.tensors;
  const auto tables = checkpoint::rope_tables(job.checkpoint->config().rope);
  const bool gguf = job.out.format == ModelFormat::gguf;
  for (const checkpoint::RopeTable& table : tables) {
    if (gguf) tensors.push_back(checkpoint::rope_tensor(table));
  }
  ModelRows rows{tensors, source, threads};
  rows.progress = progress_bar(job.out.path, rows.bytes());
  auto done = gguf ? rewrite_gguf(job, mix, rows) : rewrite_safetensors(job, mix, rows);
  if (done && !job.checkpoint->unused().empty()) {
    done->notes.push_back(std::to_string(job.checkpoint->unused().size()) +
                          " tensors that Forge has no use for are left out, the first of them '" +
                          job.checkpoint->unused().front() + "'");
  }
  return done;
}

}  // namespace forge::apps
