#include "forge/runtime/loaded_model.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "forge/builtin/trained_model.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/core/check.h"
#include "forge/reference/seeded_model.h"
#include "forge/reference/weights.h"
#include "forge/runtime/builtin_model.h"
#include "forge/text/byte_tokenizer.h"
#include "forge/text/load_tokenizer.h"

namespace forge::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kByteTokens = 257;  // that ByteTokenizer makes: eos and the bytes

constexpr const char* kBuiltinTokenizerConfig = R"({"eos_token": "<|endoftext|>"})";

/// One for the built-in model, whose layers are too small to share.
int thread_count(const ModelSource& source) {
  if (source.threads > 0) return source.threads;
  if (!source.is_file()) return 1;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 1024U));
}

/// "models/x/" and "models/x.gguf" are "x".
std::string name_of_path(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  const fs::path last = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  const std::string extension = last.extension().string();
  return (extension == ".gguf" || extension == ".safetensors" ? last.stem() : last).string();
}

/// None, without an error, where the file has no tokenizer.
text::LoadedTokenizer tokenizer_of(const checkpoint::Checkpoint& checkpoint,
                                   const std::string& path) {
  if (const formats::Gguf* gguf = checkpoint.gguf()) {
    const auto kind = gguf->text("tokenizer.ggml.model");
    if (!kind || *kind == "none" || *kind == "no_vocab") return nullptr;
    return text::load_tokenizer(*gguf);
  }
  const std::string folder = checkpoint::directory_of(path);
  if (!text::has_tokenizer(folder)) return nullptr;
  return text::load_tokenizer(folder);
}

chat::LoadedChatFormat chat_of(const checkpoint::Checkpoint& checkpoint, const std::string& path) {
  if (const formats::Gguf* gguf = checkpoint.gguf()) return chat::load_chat_format(*gguf);
  return chat::load_chat_format(checkpoint::directory_of(path));
}

tl::expected<std::shared_ptr<checkpoint::Checkpoint>, std::string> open_checkpoint(
    const std::string& path) {
  auto opened = checkpoint::Checkpoint::open(path);
  if (!opened) return tl::unexpected(to_string(opened.error()));
  return std::make_shared<checkpoint::Checkpoint>(*std::move(opened));
}

}  // namespace

tl::expected<std::unique_ptr<LoadedModel>, std::string> LoadedModel::open(const ModelSource& source,
                                                                          TargetKind kind) {
  const auto threads = std::make_shared<linear::ThreadPool>(thread_count(source));
  auto parts = open_parts(source, *threads);
  if (!parts) return tl::unexpected(parts.error());
  if (auto packed = pack_for(kind, source.numerics, *threads, *parts); !packed) {
    return tl::unexpected("--model: " + packed.error());
  }
  auto model = std::unique_ptr<LoadedModel>(new LoadedModel(*std::move(parts), threads));
  if (source.draft.empty()) return model;
  auto draft = open_draft(source);
  if (!draft) return tl::unexpected("--draft: " + draft.error());
  if (auto packed = pack_for(kind, source.numerics, *threads, *draft); !packed) {
    return tl::unexpected("--draft: " + packed.error());
  }
  model->draft_ = std::unique_ptr<LoadedModel>(new LoadedModel(*std::move(draft), threads));
  const int vocabulary = model->config().vocabulary_size;
  const int drafts_vocabulary = model->draft_->config().vocabulary_size;
  if (drafts_vocabulary > vocabulary) {
    return tl::unexpected("--draft: '" + source.draft + "' has a vocabulary of " +
                          std::to_string(drafts_vocabulary) +
                          " tokens, accepted: up to the model's " + std::to_string(vocabulary));
  }
  return model;
}

LoadedModel::OpenedParts LoadedModel::open_parts(const ModelSource& source,
                                                 linear::ThreadPool& threads) {
  std::optional<chat::ChatFormat> chat;
  if (!source.chat_template.empty()) {
    auto given = chat::load_chat_template(source.chat_template);
    if (!given) return tl::unexpected("--chat-template: " + to_string(given.error()));
    chat = *std::move(given);
  }
  auto parts =
      source.is_file() ? open_adapted(source, threads) : OpenedParts(open_builtin(source.builtin));
  if (!parts) return parts;
  if (chat) {
    if (parts->chat) {
      chat->bos_token = parts->chat->bos_token;
      chat->eos_token = parts->chat->eos_token;
    }
    parts->chat = *std::move(chat);
  }
  return parts;
}

LoadedModel::OpenedParts LoadedModel::open_draft(const ModelSource& source) {
  if (!is_builtin(source.draft)) {
    auto file = open_checkpoint(source.draft);
    if (!file) return tl::unexpected(file.error());
    return open_file(*file, source.draft);
  }
  const auto builtin = parse_builtin(source.draft);
  if (!builtin) return tl::unexpected(builtin.error());
  return open_builtin(*builtin);
}

LoadedModel::Parts LoadedModel::open_builtin(const BuiltinModel& builtin) {
  const reference::TinyConfig config = builtin.config();
  auto weights = std::make_shared<const reference::Weights>(
      builtin.random ? reference::seeded_weights(config) : builtin::trained_weights());
  std::unique_ptr<const text::Tokenizer> tokenizer;
  if (!builtin.random) {
    const std::string name(kBuiltinModel);
    auto parsed =
        text::parse_tokenizer(builtin::trained_tokenizer(), kBuiltinTokenizerConfig, name);
    FORGE_CHECK(parsed.has_value(), to_string(parsed.error()));
    tokenizer = *std::move(parsed);
  }
  model::StoredModel stored = stored_model(*weights);
  return {.name = std::string(kBuiltinModel),
          .file = nullptr,
          .numbers = std::move(weights),
          .config = model_config(config),
          .stored = std::move(stored),
          .reader = std::make_shared<linear::MemoryReader>(),
          .layout = {},
          .transformer = std::nullopt,
          .tokenizer = std::move(tokenizer),
          .chat = chat::default_chat_format()};
}

LoadedModel::OpenedParts LoadedModel::open_adapted(const ModelSource& source,
                                                   linear::ThreadPool& threads) {
  auto file = open_checkpoint(source.path);
  if (!file) return tl::unexpected("--model: " + file.error());
  if (const auto merged = (*file)->merge(source.lora, threads); !merged) {
    return tl::unexpected("--lora: " + to_string(merged.error()));
  }
  auto parts = open_file(*file, source.path);
  if (!parts) return tl::unexpected("--model: " + parts.error());
  return parts;
}

LoadedModel::OpenedParts LoadedModel::open_file(const std::shared_ptr<checkpoint::Checkpoint>& file,
                                                const std::string& path) {
  auto tokenizer = tokenizer_of(*file, path);
  auto chat = chat_of(*file, path);
  if (!tokenizer) return tl::unexpected(to_string(tokenizer.error()));
  const auto vocabulary = static_cast<std::uint32_t>(file->config().vocabulary_size);
  const std::uint32_t needed = *tokenizer ? (*tokenizer)->vocabulary_size() : kByteTokens;
  if (needed > vocabulary) {
    return tl::unexpected("'" + path + "' has a vocabulary of " + std::to_string(vocabulary) +
                          " tokens, its tokenizer " + (*tokenizer ? "" : "(none, so bytes) ") +
                          "needs " + std::to_string(needed));
  }
  std::vector<std::string> notes(file->notes().begin(), file->notes().end());
  return Parts{.name = name_of_path(path),
               .file = file,
               .numbers = nullptr,
               .config = file->config(),
               .stored = file->model(),
               .reader = std::make_shared<checkpoint::CheckpointReader>(*file),
               .layout = {},
               .transformer = std::nullopt,
               .tokenizer = *std::move(tokenizer),
               .chat = std::move(chat),
               .notes = std::move(notes)};
}

tl::expected<void, std::string> LoadedModel::pack_for(TargetKind kind, RunNumerics numerics,
                                                      linear::ThreadPool& threads, Parts& parts) {
  if (is_gpu(kind)) {
    parts.layout = packed_layout(parts.config, parts.stored);
    return {};
  }
  // Copies are given back when they are packed, so that there are never two of all.
  if (parts.file != nullptr) {
    parts.reader = std::make_shared<checkpoint::CheckpointReader>(*parts.file, *parts.file);
  }
  const auto of_products =
      numerics == RunNumerics::canonical ? linear::Numerics::canonical : linear::Numerics::native;
  auto weights = pack(parts.config, parts.stored, threads, {of_products, parts.reader.get()});
  if (!weights) return tl::unexpected(to_string(parts.file->error_of(weights.error())));
  parts.transformer.emplace(parts.config, *std::move(weights));
  return {};
}

const model::Transformer& LoadedModel::transformer() const {
  FORGE_CHECK(parts_.transformer.has_value(), "opened for a GPU");
  return *parts_.transformer;
}

tl::expected<gpu::GpuModel, std::string> LoadedModel::gpu_model(gpu::GpuNumerics numerics) const {
  FORGE_CHECK(parts_.file == nullptr || !parts_.transformer, "opened for a CPU");
  return gpu::GpuModel::of(parts_.config, parts_.stored, *threads_, parts_.reader.get(), numerics);
}

std::string LoadedModel::error_of(const model::PackFault& fault) const {
  FORGE_CHECK(parts_.file != nullptr, "the built-in model has no faults");
  return to_string(parts_.file->error_of(fault));
}

LoadedModel::LoadedModel(Parts parts, Threads threads)
    : parts_(std::move(parts)),
      has_tokenizer_(parts_.tokenizer != nullptr),
      threads_(std::move(threads)) {
  if (!has_tokenizer_) parts_.tokenizer = std::make_unique<text::ByteTokenizer>();
}

LoadedModel::AnswerEnd LoadedModel::answer_end() const {
  AnswerEnd end;
  if (!parts_.chat) return end;
  end.text = chat::answer_end(*parts_.chat);
  const auto tokens = parts_.tokenizer->encode(end.text, {.add_special = false});
  if (tokens && !tokens->empty() && parts_.tokenizer->is_control(tokens->front())) {
    end.token = tokens->front();
  }
  return end;
}

std::string LoadedModel::answer_stop() const {
  AnswerEnd end = answer_end();
  return end.token ? std::string() : std::move(end.text);
}

std::vector<TokenId> LoadedModel::eos() const {
  std::vector<TokenId> eos;
  for (const std::uint32_t token : config().eos) eos.emplace_back(token);
  if (const auto token = answer_end().token) eos.push_back(*token);
  if (has_tokenizer_) {
    eos.insert(eos.end(), parts_.tokenizer->eos_tokens().begin(),
               parts_.tokenizer->eos_tokens().end());
    const auto begin = parts_.tokenizer->encode("").value();  // the empty text needs no byte
    for (const TokenId token : begin) {
      if (parts_.tokenizer->is_control(token)) eos.push_back(token);
    }
  }
  std::sort(eos.begin(), eos.end());
  eos.erase(std::unique(eos.begin(), eos.end()), eos.end());
  return eos;
}

}  // namespace forge::runtime
