// LoadedModel: a model ready to run, from a file or built in: its tokenizer, its weights, and the
// threads that pack them and compute with them on a CPU.
//
// For a CPU, weights are packed when it opens. For a GPU they stay where they are stored, until a
// target reads them and brings them to its device. Several targets may run the same LoadedModel one
// after the other; it must outlive them.
//
// Owns everything. Thread contract: const after open(), but for threads(), which one thread uses at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/chat/chat_format.h"
#include "forge/core/ids.h"
#include "forge/gpu/gpu_model.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/model/stored_model.h"
#include "forge/model/transformer.h"
#include "forge/runtime/target_options.h"
#include "forge/text/tokenizer.h"

namespace forge::checkpoint {
class Checkpoint;
}
namespace forge::reference {
struct Weights;
}

namespace forge::runtime {

class LoadedModel {
 public:
  /// Opens the model of `source`, with its adapters, and the draft model if there is one, for
  /// targets of `kind`. Errors: those of Checkpoint, load_tokenizer and pack, with the path; those
  /// of load_chat_template for the one of `source`; the draft's vocabulary is larger than the
  /// model's.
  static tl::expected<std::unique_ptr<LoadedModel>, std::string> open(
      const ModelSource& source, TargetKind kind = TargetKind::cpu);

  const model::ModelConfig& config() const { return parts_.config; }
  linear::ThreadPool& threads() const { return *threads_; }

  /// The weights as a CPU's products read them; of a GPU's, which are not packed here, their layout
  /// (packed_model.h).
  const model::PackedModel& weights() const {
    return parts_.transformer ? parts_.transformer->weights() : parts_.layout;
  }

  /// Requires: opened for a CPU.
  const model::Transformer& transformer() const;

  /// Requires: opened for a GPU, or built in. Errors: those of GpuModel::of.
  tl::expected<gpu::GpuModel, std::string> gpu_model(
      gpu::GpuNumerics numerics = gpu::GpuNumerics::canonical) const;

  /// What packing for a device has found, in the words of the model's file.
  std::string error_of(const model::PackFault& fault) const;

  /// The draft model, or null. It computes with the same threads.
  const LoadedModel* draft() const { return draft_.get(); }

  /// The tokenizer of the model, or ByteTokenizer where it has none.
  const text::Tokenizer& tokenizer() const { return *parts_.tokenizer; }
  bool has_tokenizer() const { return has_tokenizer_; }

  /// How conversations are spelt; the default where neither the source nor the files say it.
  /// Errors: those of load_chat_format: everything but chat goes on without it.
  const chat::LoadedChatFormat& chat() const { return parts_.chat; }

  /// The tokens that end a text: those of the configuration, those of the tokenizer, the token with
  /// which the chat template ends an answer, and the one that begins a text, with which models
  /// trained on texts in a row go on to the next.
  std::vector<TokenId> eos() const;

  /// Where no token of eos() ends an answer in a chat, the text that does, a stop string; else
  /// empty. ChatML's "<|im_end|>" is plain text to a tokenizer that does not know it.
  std::string answer_stop() const;

  /// What the file's notes say (checkpoint.h), a line each.
  const std::vector<std::string>& notes() const { return parts_.notes; }

  /// The name of the directory or the file, without its format, "TinyLlama-1.1B"; or "forge-tiny".
  const std::string& name() const { return parts_.name; }

 private:
  using Threads = std::shared_ptr<linear::ThreadPool>;

  struct Parts {
    std::string name;
    std::shared_ptr<checkpoint::Checkpoint> file;       // null: it is built in
    std::shared_ptr<const reference::Weights> numbers;  // of the built-in model
    model::ModelConfig config;
    model::StoredModel stored;  // borrows from one of both
    std::shared_ptr<linear::WeightReader> reader;
    model::PackedModel layout;
    std::optional<model::Transformer> transformer;
    std::unique_ptr<const text::Tokenizer> tokenizer;  // null: there is none
    chat::LoadedChatFormat chat;
    std::vector<std::string> notes = {};
  };
  using OpenedParts = tl::expected<Parts, std::string>;

  LoadedModel(Parts parts, Threads threads);
  static OpenedParts open_parts(const ModelSource& source, linear::ThreadPool& threads);
  static OpenedParts open_adapted(const ModelSource& source, linear::ThreadPool& threads);
  static OpenedParts open_file(const std::shared_ptr<checkpoint::Checkpoint>& file,
                               const std::string& path);
  static Parts open_builtin(const BuiltinModel& builtin);
  static OpenedParts open_draft(const ModelSource& source);
  static tl::expected<void, std::string> pack_for(TargetKind kind, RunNumerics numerics,
                                                  linear::ThreadPool& threads, Parts& parts);

  struct AnswerEnd {
    std::string text;
    std::optional<TokenId> token;  // if the tokenizer has a control token for it
  };
  AnswerEnd answer_end() const;

  Parts parts_;
  bool has_tokenizer_;
  Threads threads_;
  std::unique_ptr<const LoadedModel> draft_;
};

/// Sets what `options` take from the model and the memory that is free: numerics, and the type of
/// KV that goes with them; the number of blocks (source.kv_memory, device.gpu_memory, fit_blocks);
/// eos; and a draft of half the layers where draft_layers is 0 or nothing is drafted. Takes no
/// memory. Errors: what does not fit the model or the memory, by name, value and accepted range; no
/// such device.
tl::expected<void, std::string> configure(TargetOptions& options, const LoadedModel& model);

}  // namespace forge::runtime
