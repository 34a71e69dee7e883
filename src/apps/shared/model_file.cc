#include "model_file.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "forge/core/scheduler_config.h"
#include "forge/text/byte_tokeniser.h"
#include "forge/text/load_tokeniser.h"
#include "forge/trace/trace_json.h"
#include "free_memory.h"

namespace forge {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kByteTokens = 257;  // that ByteTokeniser makes: eos and the bytes

int thread_count(const ModelSource& source) {
  if (source.threads > 0) return source.threads;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 1024U));
}

/// "models/x/" and "models/x.gguf" are "x".
std::string name_of_path(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  const fs::path last = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  const std::string extension = last.extension().string();
  return (extension == ".gguf" || extension == ".safetensors" ? last.stem() : last).string();
}

/// The folder in which the files beside the weights are.
fs::path folder_of(const std::string& path) {
  return fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
}

/// None, without an error, where the file has no tokeniser.
LoadedTokeniser tokeniser_of(const Checkpoint& checkpoint, const std::string& path) {
  if (const formats::Gguf* gguf = checkpoint.gguf()) {
    const auto kind = gguf->text("tokenizer.ggml.model");
    if (!kind || *kind == "none" || *kind == "no_vocab") return nullptr;
    return load_tokeniser(*gguf);
  }
  const fs::path folder = folder_of(path);
  // A link to nothing is there: opening it says what is wrong.
  if (!fs::exists(fs::symlink_status(folder / "tokenizer.json"))) return nullptr;
  return load_tokeniser(folder.string());
}

ReadAdvice advice_of(const Checkpoint& checkpoint) {
  return {.will_read = [&](const linear::StoredLinear& matrix) { checkpoint.will_read(matrix); },
          .done_with = [&](const linear::StoredLinear& matrix) { checkpoint.done_with(matrix); }};
}

tl::expected<std::uint32_t, std::string> blocks_in(std::uint64_t bytes, std::uint64_t block_bytes) {
  const std::uint64_t blocks = bytes / block_bytes;
  if (blocks > 0) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(blocks, kLargestTraceScheduler.num_blocks));
  }
  return tl::unexpected("--kv-memory: " + bytes_text(bytes) + " hold no block, which takes " +
                        bytes_text(block_bytes));
}

/// Of the model and of the one that drafts for it.
std::uint64_t kv_bytes_of_token(const ModelFile& model) {
  std::uint64_t floats = kv_shape(model.config()).token_floats();
  if (model.draft() != nullptr) floats += kv_shape(model.draft()->config()).token_floats();
  return sizeof(float) * floats;
}

}  // namespace

tl::expected<std::unique_ptr<ModelFile>, std::string> ModelFile::open(const ModelSource& source) {
  const auto threads = std::make_shared<linear::ThreadPool>(thread_count(source));
  auto model = open(source.path, threads);
  if (!model) return tl::unexpected("--model: " + model.error());
  if (source.draft.empty()) return model;
  auto draft = open(source.draft, threads);
  if (!draft) return tl::unexpected("--draft: " + draft.error());
  const int vocabulary = (*model)->config().vocabulary_size;
  if ((*draft)->config().vocabulary_size > vocabulary) {
    return tl::unexpected("--draft: '" + source.draft + "' has a vocabulary of " +
                          std::to_string((*draft)->config().vocabulary_size) +
                          " tokens, accepted: up to the model's " + std::to_string(vocabulary));
  }
  (*model)->draft_ = *std::move(draft);
  return model;
}

tl::expected<std::unique_ptr<ModelFile>, std::string> ModelFile::open(const std::string& path,
                                                                      Threads threads) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint) return tl::unexpected(to_string(checkpoint.error()));
  auto tokeniser = tokeniser_of(*checkpoint, path);
  if (!tokeniser) return tl::unexpected(to_string(tokeniser.error()));
  const auto vocabulary = static_cast<std::uint32_t>(checkpoint->config().vocabulary_size);
  const std::uint32_t needed = *tokeniser ? (*tokeniser)->vocabulary_size() : kByteTokens;
  if (needed > vocabulary) {
    return tl::unexpected("'" + path + "' has a vocabulary of " + std::to_string(vocabulary) +
                          " tokens, its tokeniser " + (*tokeniser ? "" : "(none, so bytes) ") +
                          "needs " + std::to_string(needed));
  }
  auto weights = pack(checkpoint->config(), checkpoint->model(), *threads, advice_of(*checkpoint));
  if (!weights) return tl::unexpected(to_string(checkpoint->error_of(weights.error())));
  Parts parts{*std::move(checkpoint), *std::move(tokeniser), *std::move(weights)};
  return std::unique_ptr<ModelFile>(
      new ModelFile(name_of_path(path), std::move(parts), std::move(threads)));
}

ModelFile::ModelFile(std::string name, Parts parts, Threads threads)
    : name_(std::move(name)),
      checkpoint_(std::move(parts.checkpoint)),
      tokeniser_(std::move(parts.tokeniser)),
      has_tokeniser_(tokeniser_ != nullptr),
      threads_(std::move(threads)),
      transformer_(checkpoint_.config(), std::move(parts.weights)) {
  if (!has_tokeniser_) tokeniser_ = std::make_unique<ByteTokeniser>();
}

std::vector<TokenId> ModelFile::eos() const {
  std::vector<TokenId> eos;
  for (const std::uint32_t token : config().eos) eos.emplace_back(token);
  if (has_tokeniser_) {
    eos.insert(eos.end(), tokeniser_->eos_tokens().begin(), tokeniser_->eos_tokens().end());
    for (const TokenId token : tokeniser_->encode("")) {
      if (tokeniser_->is_control(token)) eos.push_back(token);
    }
  }
  std::sort(eos.begin(), eos.end());
  eos.erase(std::unique(eos.begin(), eos.end()), eos.end());
  return eos;
}

tl::expected<void, std::string> configure(TargetOptions& options, const ModelFile& model,
                                          bool blocks_given) {
  SchedulerConfig& scheduler = options.scheduler;
  const std::uint64_t block_bytes = kv_bytes_of_token(model) * scheduler.block_size;
  const std::uint64_t free = free_memory_bytes();
  if (options.source.kv_memory.given()) {
    const auto blocks = blocks_in(options.source.kv_memory.of(free), block_bytes);
    if (!blocks) return tl::unexpected(blocks.error());
    scheduler.num_blocks = *blocks;
  } else if (!blocks_given) {
    const std::uint64_t longest =
        static_cast<std::uint64_t>(model.config().positions) + scheduler.block_size - 1;
    const std::uint64_t wanted = longest / scheduler.block_size * scheduler.max_batch_size;
    const auto blocks = blocks_in(std::min(wanted * block_bytes, free / 2), block_bytes);
    if (!blocks) return tl::unexpected(blocks.error());
    scheduler.num_blocks = *blocks;
  }
  const std::uint64_t bytes =
      block_bytes * (std::uint64_t{scheduler.num_blocks} + scheduler.num_host_blocks);
  if (bytes > free) {
    return tl::unexpected("the KV cache takes " + bytes_text(bytes) + ", accepted: up to " +
                          bytes_text(free) + ", which are free (--kv-memory, --num-blocks)");
  }
  options.executor.eos = model.eos();
  if (options.executor.draft_layers == 0) {
    options.executor.draft_layers = std::max(1, model.config().layers / 2);
  }
  follow_scheduler(options);
  if (const auto valid = validate(scheduler); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  if (const auto valid = validate(options.executor, model.config().layers); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  return {};
}

}  // namespace forge
