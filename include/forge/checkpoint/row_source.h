// RowSource: gives the rows of a FileTensor in the type that the tensor is to have.
//
//   StoredRowSource   from a StoredModel: copies rows that are of that type already, and otherwise
//                     makes floats of them and stores these anew
//   others            whatever can say a row of a weight as floats
//
// Thread contract: begin() and end() from one thread; write() const, any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/checkpoint/file_tensors.h"
#include "forge/quant/quantize.h"

namespace forge::checkpoint {

/// How much errors in the columns of matrices count (quant/quantize.h), by role: a number for each
/// input. Those of roles that are not there count alike.
using Importance = std::map<std::string, std::vector<float>>;

class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  /// begin(): rows of `tensor` will be written next. end(): all have been.
  virtual void begin(const FileTensor& tensor);
  virtual void end(const FileTensor& tensor);

  /// Writes row `row` of `tensor` as its file is to have it; out: bytes of a row. Returns the error
  /// that storing it made. Errors: a number that the type cannot hold, with its place.
  tl::expected<quant::QuantizationError, std::string> write(const FileTensor& tensor,
                                                            std::uint64_t row,
                                                            std::span<std::byte> out) const;

 protected:
  /// Writes row `row` of the weight that `part` belongs to; out: [matrix->inputs].
  virtual void floats(const WeightRows& part, int row, std::span<float> out) const = 0;

  /// Copies the bytes of a row that is of `type` already. False if the source has no such row.
  virtual bool copy(const WeightRows& part, int row, quant::WeightType type,
                    std::span<std::byte> out) const = 0;

  /// A number for each input of the matrix, or none.
  virtual std::span<const float> importance(const WeightRows& part) const;

  /// The name of the weight for users.
  virtual TensorName name_of(const WeightRows& part) const { return {part.role, std::nullopt}; }

 private:
  std::vector<float> floats_of_row(const FileTensor& tensor, const SourceRow& source) const;
  std::string wrong_number(const FileTensor& tensor, const SourceRow& source, std::size_t column,
                           float value) const;

  /// The rows of those parts of the tensor at hand that are transposed.
  std::map<const WeightRows*, std::vector<float>> columns_;
};

class StoredRowSource final : public RowSource {
 public:
  /// The source of a model whose rows are in memory; or that of `checkpoint`, which it borrows:
  /// then pages that have been read are given back, and errors have the names of its file.
  StoredRowSource() = default;
  explicit StoredRowSource(const Checkpoint& checkpoint) : checkpoint_(&checkpoint) {}

  void begin(const FileTensor& tensor) override;
  void end(const FileTensor& tensor) override;

  /// Rows are stored by it from now on.
  void set_importance(Importance importance) { importance_ = std::move(importance); }

 private:
  std::span<const float> importance(const WeightRows& part) const override;
  void floats(const WeightRows& part, int row, std::span<float> out) const override;
  bool copy(const WeightRows& part, int row, quant::WeightType type,
            std::span<std::byte> out) const override;
  TensorName name_of(const WeightRows& part) const override;

  const Checkpoint* checkpoint_ = nullptr;
  Importance importance_;
};

}  // namespace forge::checkpoint
