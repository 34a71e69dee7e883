// Writes the tensors of a model through a TensorWriter: rows are made by all threads at once, a few
// MiB at a time, and written in order. One tensor's piece is in memory, never a whole model.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/tensor_writer.h"
#include "forge/linear/thread_pool.h"
#include "output_tensors.h"
#include "row_source.h"

namespace forge::apps {

/// What became of a tensor.
struct WrittenTensor {
  std::string name;
  formats::ElementType type;
  std::uint64_t bytes = 0;
  quant::QuantizationError error;
};

/// Where the file goes and what it says.
struct WriteJob {
  std::string label;  ///< of the progress bar
  formats::TensorWriter writer;
  linear::ThreadPool& threads;
};

/// Writes all of `tensors` and finishes the file. Errors: those of the source, with the tensor; of
/// the disk; or that the user has asked to stop (interrupts.h). The file is then not there.
tl::expected<std::vector<WrittenTensor>, std::string> write_tensors(
    const std::vector<OutputTensor>& tensors, RowSource& source, WriteJob job);

}  // namespace forge::apps
