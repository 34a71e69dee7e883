// Writes the tensors of a model as a file of GGUF or a directory with SafeTensors. Rows are made by
// all threads at once, a few MiB at a time, and written in order: one tensor's piece is in memory,
// never a whole model. No file is left behind if writing fails.
//
// Example, given `#include "forge/checkpoint/weight_mix.h"`, `const Checkpoint& checkpoint`,
// `const formats::GgufMetadata& metadata` and `linear::ThreadPool& threads`:
//
//   auto tensors = file_tensors(checkpoint.config(), checkpoint.model(), ModelFormat::gguf);
//   keep_types(ModelFormat::gguf, tensors);
//   StoredRowSource source(checkpoint);
//   const auto written = write_gguf("model.gguf", metadata, {tensors, source, threads});
//   if (!written) return written.error();
//
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/file_tensors.h"
#include "forge/checkpoint/row_source.h"
#include "forge/formats/gguf_value.h"
#include "forge/linear/thread_pool.h"

namespace forge::checkpoint {

/// A model to write: its tensors, and where their rows come from.
struct ModelRows {
  const std::vector<FileTensor>& tensors;
  RowSource& source;
  linear::ThreadPool& threads;
  /// Called now and then with the number of bytes written; returns false to stop. May be empty.
  std::function<bool(std::uint64_t bytes)> progress = {};

  std::uint64_t bytes() const;  ///< bytes of all tensors
};

/// A tensor as it was written.
struct WrittenTensor {
  std::string name;
  formats::ElementType type;
  std::uint64_t bytes = 0;
  quant::QuantizationError error;
};

/// Errors: those of TensorWriter and of the source; `progress` has said to stop.
tl::expected<std::vector<WrittenTensor>, std::string> write_gguf(
    const std::string& path, const formats::GgufMetadata& metadata, const ModelRows& model);

/// Writes model.safetensors in `directory`, which is made if it does not exist. `files` are texts
/// that are put beside it, by name: config.json and others. Errors: likewise.
tl::expected<std::vector<WrittenTensor>, std::string> write_safetensors(
    const std::string& directory, const std::map<std::string, std::string>& files,
    const ModelRows& model);

}  // namespace forge::checkpoint
