#include "checkpoint/load_damaged.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/adapter_edit.h"
#include "checkpoint/checkpoint_edit.h"
#include "checkpoint/damage.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/checkpoint/gguf_config.h"
#include "forge/core/check.h"
#include "model/transformer_runner.h"

namespace forge::testing {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ModelFormat;
using formats::FileError;
using formats::testing::ScratchFolder;

constexpr int kChangesMax = 4;

struct Adapter {
  EditableAdapter adapter;
  std::string base;  ///< the folder
};

struct Goldens {
  std::vector<EditableCheckpoint> checkpoints;
  std::vector<EditableGguf> ggufs;
  std::vector<Adapter> adapters;
};

/// The folders that have such a file, as EditableCheckpoint takes them, in the order of their
/// names.
std::vector<std::string> folders_with(const std::string& file) {
  std::vector<std::string> out;
  for (const std::string root : {"../models/", "../quantized/"}) {
    for (const auto& folder : std::filesystem::directory_iterator(golden(root))) {
      if (!std::filesystem::exists(folder.path() / file)) continue;
      out.push_back(root + folder.path().filename().string());
    }
  }
  std::ranges::sort(out);
  return out;
}

const Goldens& goldens() {
  static const Goldens kGoldens = [] {
    Goldens out;
    for (const std::string& name : folders_with("config.json")) {
      out.checkpoints.push_back(EditableCheckpoint::of(name));
    }
    for (const std::string& name : folders_with("model.gguf")) out.ggufs.emplace_back(name);
    for (const auto& [adapter, base] : {std::pair{"llama_all", "llama"},
                                        {"llama_root", "llama"},
                                        {"phi3_fused", "phi3"},
                                        {"tales_query", "tales"}}) {
      out.adapters.push_back({EditableAdapter(adapter), golden(base)});
    }
    return out;
  }();
  return kGoldens;
}

/// Whatever is wrong, its error is one line of printable text that is not endless, and names a
/// file.
void check_error(const FileError& error) {
  const std::string text = to_string(error);
  FORGE_CHECK(!error.file.empty() && !error.message.empty() && text.size() < 2000, text);
  FORGE_CHECK(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }), text);
}

/// The same bits; of what is no number, any.
bool is_same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

/// A text in one pass, and again token by token beside another one. Aborts where its logits differ.
void run(const model::Transformer& transformer) {
  const model::ModelConfig& config = transformer.config();
  const auto last = static_cast<std::uint32_t>(config.vocabulary_size - 1);
  std::vector<TokenId> tokens{TokenId{0}, TokenId{last}, TokenId{last / 2}};
  tokens.resize(std::min<std::size_t>(tokens.size(), static_cast<std::size_t>(config.positions)));
  const std::vector<Logits> alone = logits_alone(transformer, tokens);
  const auto count = static_cast<std::uint32_t>(tokens.size());
  TransformerRunner beside(transformer, {.num_blocks = 4, .block_size = 2});
  beside.add(tokens, count);
  std::ranges::reverse(tokens);
  beside.add(tokens, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Logits again = beside.run({{1, i, 1}, {0, i, 1}}).back();
    FORGE_CHECK(std::ranges::equal(alone[i], again, is_same), "token ", i);
  }
}

/// False where packing refuses a number.
bool pack_and_run(const Checkpoint& checkpoint) {
  const model::ModelConfig& config = checkpoint.config();
  FORGE_CHECK(validate(config).has_value());
  checkpoint::check_for_gguf(config);
  linear::ThreadPool threads(1);
  checkpoint::CheckpointReader reader(checkpoint);
  auto packed = pack(config, checkpoint.model(), threads, {.reader = &reader});
  if (!packed) {
    check_error(checkpoint.error_of(packed.error()));
    return false;
  }
  run(model::Transformer(config, *std::move(packed)));
  return true;
}

bool load(const std::string& path, std::span<const checkpoint::LoraSource> adapters = {}) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint) {
    check_error(checkpoint.error());
    return false;
  }
  if (!adapters.empty()) {
    linear::ThreadPool threads(1);
    if (const auto merged = checkpoint->merge(adapters, threads); !merged) {
      check_error(merged.error());
      return false;
    }
  }
  return pack_and_run(*checkpoint);
}

/// Some changes of a description and of tensors.
template <class Description>
void damage_both(Description& description, const Description& other, EditableTensors& tensors,
                 const EditableTensors& others, ModelFormat format, Choices& choices) {
  for (int i = 0; i < kChangesMax && choices.more(); ++i) {
    if (choices.below(2) == 0) {
      damage(description, other, choices);
    } else {
      damage(tensors, others, format, choices);
    }
  }
}

bool load_damaged(EditableCheckpoint checkpoint, Choices& choices) {
  const EditableCheckpoint& other = *choices.one_of(goldens().checkpoints);
  damage_both(checkpoint.config, other.config, checkpoint.tensors, other.tensors,
              ModelFormat::safetensors, choices);
  const ScratchFolder folder;
  checkpoint.write(folder);
  return load(folder.path());
}

bool load_damaged(const EditableGguf& gguf, Choices& choices) {
  const EditableGguf& other = *choices.one_of(goldens().ggufs);
  formats::GgufMetadata metadata = gguf.metadata;
  EditableTensors tensors = gguf.tensors;
  damage_both(metadata, other.metadata, tensors, other.tensors, ModelFormat::gguf, choices);
  const ScratchFolder folder;
  write_gguf(folder.file("model.gguf"), metadata, tensors);
  return load(folder.file("model.gguf"));
}

bool load_damaged(const Adapter& original, Choices& choices) {
  const EditableAdapter& other = choices.one_of(goldens().adapters)->adapter;
  EditableAdapter adapter = original.adapter;
  damage_both(adapter.config, other.config, adapter.tensors, other.tensors,
              ModelFormat::safetensors, choices);
  const ScratchFolder folder;
  adapter.write(folder);
  return load(original.base, std::vector{checkpoint::LoraSource{folder.path()}});
}

}  // namespace

std::size_t golden_count() {
  const auto& [checkpoints, ggufs, adapters] = goldens();
  return checkpoints.size() + ggufs.size() + adapters.size();
}

bool load_damaged(std::span<const std::uint8_t> bytes) {
  const auto& [checkpoints, ggufs, adapters] = goldens();
  Choices choices(bytes);
  std::size_t index = choices.below(golden_count());
  if (index < checkpoints.size()) return load_damaged(checkpoints[index], choices);
  index -= checkpoints.size();
  if (index < ggufs.size()) return load_damaged(ggufs[index], choices);
  return load_damaged(adapters[index - ggufs.size()], choices);
}

}  // namespace forge::testing
