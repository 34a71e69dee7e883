// ModelFile: a model from a file, ready to run: its checkpoint, its tokeniser, its weights packed,
// and the threads that compute with them.
//
// Packing reads the whole file once. Several targets may run the same ModelFile one after the
// other; it must outlive them.
//
// Owns everything. Thread contract: const after open(), but for threads(), which one thread uses at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"
#include "forge/linear/thread_pool.h"
#include "forge/text/tokeniser.h"
#include "forge/transformer/checkpoint.h"
#include "forge/transformer/transformer.h"
#include "target_options.h"

namespace forge {

class ModelFile {
 public:
  /// And of the model that drafts, where `source` has one. Errors: those of Checkpoint,
  /// load_tokeniser and pack, with the path; the draft's vocabulary is larger than the model's.
  static tl::expected<std::unique_ptr<ModelFile>, std::string> open(const ModelSource& source);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const ModelConfig& config() const { return checkpoint_.config(); }
  const Transformer& transformer() const { return transformer_; }
  linear::ThreadPool& threads() const { return *threads_; }

  /// The model that drafts, or null. It computes with the same threads.
  const ModelFile* draft() const { return draft_.get(); }

  /// The file's own; ByteTokeniser where it has none, as made-up models do.
  const Tokeniser& tokeniser() const { return *tokeniser_; }
  bool has_tokeniser() const { return has_tokeniser_; }

  /// What ends a text: by the configuration, by the tokeniser, and the token that begins a text,
  /// with which models trained on texts in a row go on to the next.
  std::vector<TokenId> eos() const;

  /// The directory's or the file's own name, without what says its format: "TinyLlama-1.1B".
  const std::string& name() const { return name_; }

 private:
  using Threads = std::shared_ptr<linear::ThreadPool>;

  struct Parts {
    Checkpoint checkpoint;
    std::unique_ptr<const Tokeniser> tokeniser;  // null: the file has none
    PackedModel weights;                         // which borrow from the checkpoint
  };

  ModelFile(std::string name, Parts parts, Threads threads);
  static tl::expected<std::unique_ptr<ModelFile>, std::string> open(const std::string& path,
                                                                    Threads threads);

  std::string name_;
  Checkpoint checkpoint_;
  std::unique_ptr<const Tokeniser> tokeniser_;
  bool has_tokeniser_;
  Threads threads_;
  Transformer transformer_;
  std::unique_ptr<const ModelFile> draft_;
};

/// Gives `options`, as the command line left them, what they take from the model: the blocks that
/// --kv-memory stands for (or, where neither it nor --num-blocks is given, a full batch of the
/// longest texts, in at most half of the free memory), eos, and a draft of half the layers.
/// `blocks_given`: --num-blocks was. Errors: what does not fit the model or the memory, by name,
/// value and accepted range.
tl::expected<void, std::string> configure(TargetOptions& options, const ModelFile& model,
                                          bool blocks_given);

}  // namespace forge
