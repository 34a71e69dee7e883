// RowSource: gives the rows of an OutputTensor in the type that the tensor is to have.
//
//   StoredRowSource   from a checkpoint: copies rows that are of that type already, and otherwise
//                     makes floats of them and stores these anew
//   RandomRowSource   made up from a seed (random_rows.h)
//
// Thread contract: begin() and end() from one thread; write() const, any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/quant/quantize.h"
#include "output_tensors.h"

namespace forge::apps {

class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  /// Rows of `tensor` will be written next, or all have been.
  virtual void begin(const OutputTensor& tensor) = 0;
  virtual void end(const OutputTensor& tensor) = 0;

  /// Row `row` of `tensor` as its file is to have it; out: bytes of a row. Returns: what storing it
  /// changed. Errors: a number that the type cannot hold, with its place.
  virtual tl::expected<quant::QuantizationError, std::string> write(
      const OutputTensor& tensor, std::uint64_t row, std::span<std::byte> out) const = 0;
};

class StoredRowSource final : public RowSource {
 public:
  /// Borrows `checkpoint`, of whose model the tensors are.
  explicit StoredRowSource(const checkpoint::Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  void begin(const OutputTensor& tensor) override;
  void end(const OutputTensor& tensor) override;
  tl::expected<quant::QuantizationError, std::string> write(
      const OutputTensor& tensor, std::uint64_t row, std::span<std::byte> out) const override;

 private:
  std::vector<float> floats_of_row(const OutputTensor& tensor, const SourceRow& source) const;

  const checkpoint::Checkpoint& checkpoint_;
  /// Of the parts that are transposed, of the tensor that is being written: what their rows are.
  std::map<const ModelPart*, std::vector<float>> columns_;
};

}  // namespace forge::apps
