// Checkpoint: a model on disk, whatever its format: what it is and its weights.
//
// Example, given `#include "forge/model/transformer.h"` and `linear::ThreadPool& threads`:
//
//   const auto checkpoint = Checkpoint::open("Qwen2.5-0.5B-Instruct/");
//   if (!checkpoint) return to_string(checkpoint.error());
//   CheckpointReader reader(*checkpoint);
//   auto weights = pack(checkpoint->config(), checkpoint->model(), threads, {.reader = &reader});
//   if (!weights) return to_string(checkpoint->error_of(weights.error()));
//   const model::Transformer transformer(checkpoint->config(), *std::move(weights));
//   ...
//
// Paths are those of tensor_file.h; SafeTensors have their config.json beside them.
//
// Files are mapped, not read: opening a checkpoint looks at its descriptions and copies its norms
// and biases, and matrices that lie there column by column or with others in between: the experts
// of gpt-oss in SafeTensors, and the parts of Phi-3's fused projections in GPTQ and AWQ. The code
// that packs the matrices reads them once, through a CheckpointReader, which has an error where a
// file has become shorter meanwhile. Others walk through the mapping, and say so with will_read()
// and done_with(), so that a model twice the size of the memory can be converted.
//
// LoRA adapters (lora.h) are merged after opening: then there are copies in memory of the matrices
// that they change, and all others still lie in the file.
//
// Owns the mapped files and the copies, from which model() borrows. Thread contract: const but for
// merge() and forget(), which one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "forge/checkpoint/file_tensors.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/checkpoint/lora.h"
#include "forge/checkpoint/tensor_file.h"
#include "forge/formats/file_error.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"
#include "forge/model/weight_fault.h"

namespace forge::checkpoint {
namespace detail {

struct LoraTerm;
struct MergedMatrix;

}  // namespace detail

class Checkpoint {
 public:
  /// Errors: a path of another form; those of the formats, of hf_config.h and gguf_config.h; a
  /// tensor is missing or is not of the type and shape that the configuration asks for, with what
  /// it is and what is needed; a number of a norm or a bias is not finite; a scale of an INT8 or a
  /// pack-quantized layer is not between -2^120 and 2^120; one of an FP8 layer is not finite or not
  /// above 0. (Matrices, and the scales of GPTQ and AWQ, are looked at when they are packed.)
  static tl::expected<Checkpoint, formats::FileError> open(const std::string& path);

  /// Merges adapters in their order, with notes that say so. Reads the matrices that they change.
  /// Errors: those of an adapter (lora.h), by the name of its key or tensor; a number of such a
  /// matrix that is not finite; one that its type cannot hold any more. Nothing has changed then.
  /// Requires: nothing is merged yet.
  tl::expected<void, formats::FileError> merge(std::span<const LoraSource> adapters,
                                               linear::ThreadPool& pool);

  /// Gives back the memory of `linear` where it is a copy, which must not be read any more.
  void forget(const linear::StoredLinear& linear);

  /// The configuration; validate() accepts it.
  const model::ModelConfig& config() const { return config_; }

  /// The weights in all roles that the configuration switches on. Valid as long as the Checkpoint,
  /// wherever it is moved.
  const model::StoredModel& model() const { return model_; }

  /// Names of the file's tensors that are in no role, in the file's order: they belong to parts
  /// that Forge does not compute, such as the layers with which DeepSeek-V3 predicts several
  /// tokens.
  std::span<const std::string> unused() const { return unused_; }

  /// Lines for whoever starts a program with it: tensors that are not used, keys that are missing
  /// and change the model, scalings that are fixed by the context, adapters that were merged.
  /// Mostly none.
  std::span<const std::string> notes() const { return notes_; }

  /// The file if it is GGUF, whose metadata has the tokenizer; otherwise null.
  const formats::Gguf* gguf() const { return file_.gguf(); }

  ModelFormat format() const { return file_.format(); }

  /// The fault that packing model() has found, with the names of the file. Requires: it is a fault
  /// of one of its matrices.
  formats::FileError error_of(const model::PackFault& fault) const;

  /// The bytes of `linear` will be read soon, or not again soon (mapped_file.h). Requires: it is
  /// one of model().
  void will_read(const linear::StoredLinear& linear) const;
  void done_with(const linear::StoredLinear& linear) const;

 private:
  using MergedMatrices = std::map<const linear::StoredLinear*, detail::MergedMatrix>;
  using Advice = void (formats::MappedFile::*)(std::span<const std::byte>) const;

  friend class CheckpointReader;

  explicit Checkpoint(TensorFile file) : file_(std::move(file)) {}
  tl::expected<void, formats::FileError> read(HfConfig config);
  tl::expected<void, formats::FileError> merge_layer(const FileTensor& layer,
                                                     const std::vector<detail::LoraTerm>& terms,
                                                     linear::ThreadPool& pool,
                                                     MergedMatrices& all) const;
  void take(MergedMatrices merged, std::vector<std::string> notes);
  formats::FileError error_of_number(const model::WeightFault& fault) const;
  formats::FileError error_of_read(const linear::ReadFault& fault) const;
  void advise(const linear::StoredLinear& linear, Advice advice) const;
  const formats::Tensor* tensor_at(const std::byte* byte) const;

  TensorFile file_;
  model::ModelConfig config_;
  std::vector<std::vector<float>> scales_;         // of StoredInt8, as floats
  std::vector<std::vector<std::int32_t>> orders_;  // of StoredGroups, aligned
  std::map<const std::byte*, std::vector<std::byte>>
      copies_;  // that matrices borrow, by first byte
  bool is_merged_ = false;
  model::StoredModel model_;  // borrows all of these
  std::vector<std::string> unused_;
  std::vector<std::string> notes_;
  std::map<const std::byte*, const formats::Tensor*> by_address_;  // of the first bytes
};

/// Reads the matrices of model() from its files, and its copies where they are.
class CheckpointReader final : public linear::WeightReader {
 public:
  /// Borrows the checkpoint.
  explicit CheckpointReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// The same for whoever packs once: copies of `forgets`, the same checkpoint, are given back when
  /// their matrix is done with.
  CheckpointReader(const Checkpoint& checkpoint, Checkpoint& forgets)
      : checkpoint_(checkpoint), forgets_(&forgets) {}

  bool is_in_memory(const std::byte* from) const override;
  tl::expected<void, linear::ReadFault> read(const std::byte* from,
                                             std::span<std::byte> to) const override;
  void will_read(const linear::StoredLinear& matrix) override;
  void done_with(const linear::StoredLinear& matrix) override;

 private:
  const Checkpoint& checkpoint_;
  Checkpoint* forgets_ = nullptr;
};

}  // namespace forge::checkpoint
