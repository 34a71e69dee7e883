// TensorSource: the tensors of a checkpoint by their names of Hugging Face, each asked for with the
// shape that it must have, whatever file and form it is in.
//
// The first that is missing or not as asked becomes the fault; from then on everything asked for is
// empty, so that a builder asks for all it needs and looks at the fault now and then.
//
// Borrows the file. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forge/checkpoint/hf_config.h"
#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"
#include "forge/linear/stored_linear.h"

namespace forge::checkpoint::detail {

/// What is wrong with a tensor that has `value` at `place`, "3, 17"; or a scale of a block there.
std::string not_finite(float value, const std::string& place, bool is_scale = false);

class TensorSource {
 public:
  /// Of `config`, the quantisation and the number of experts in a stack count. Requires: exactly
  /// one of the files is not null.
  TensorSource(const formats::SafeTensors* safetensors, const formats::Gguf* gguf,
               const HfConfig& config);

  /// The tensor `name` as floats. Needed: plain floats [size], all finite.
  std::vector<float> vector(const std::string& name, int size);

  /// The linear layer `name`, "model.layers.0.mlp.up_proj", in whichever form it is there. Needed:
  /// a type of weights, [outputs][inputs], or the tensors of a quantised form of that size.
  linear::StoredLinear matrix(const std::string& name, int outputs, int inputs);

  /// The matrices of the tensor `name`.weight, one after the other. Needed: a type of weights,
  /// [count][outputs][inputs].
  std::vector<linear::StoredLinear> stack(const std::string& name, int count, int outputs,
                                          int inputs);

  /// There is a tensor `name`.
  bool has(const std::string& name) const { return find(name).tensor != nullptr; }

  bool failed() const { return fault_.has_value(); }
  const std::optional<formats::FileError>& fault() const { return fault_; }

  /// What matrices borrow and no file has as it is: to be kept as long as they are in use.
  std::vector<std::vector<float>> take_scales() { return std::move(scales_); }
  std::vector<std::vector<std::int32_t>> take_orders() { return std::move(orders_); }

  /// The names of the file's tensors that nobody asked for and that concern inference.
  std::vector<std::string> unused() const;

 private:
  /// A tensor, or one matrix of a stack of them.
  struct Found {
    const formats::Tensor* tensor = nullptr;
    std::optional<int> expert;
  };

  /// Which of the matrices of a stack.
  struct Place {
    int index = 0;
    int count = 1;
  };

  Found find(const std::string& name) const;
  const formats::Tensor* quantised(const std::string& name, formats::ElementType type,
                                   std::span<const std::uint64_t> shape);
  linear::StoredLinear rows(const formats::Tensor& tensor, std::optional<Place> place, int outputs,
                            int inputs);
  linear::StoredLinear int8_rows(const std::string& name, const formats::Tensor& tensor,
                                 int outputs, int inputs);
  linear::StoredLinear groups(const std::string& name, int outputs, int inputs);
  std::span<const std::int32_t> group_order(const std::string& name, int inputs, int group_size);
  std::vector<float> floats(const formats::Tensor& tensor);
  std::string file_of(const formats::Tensor& tensor) const;
  std::span<const formats::Tensor> tensors() const;
  void fail(const std::string& name, const formats::Tensor* tensor, const std::string& needed);

  const formats::SafeTensors* safetensors_;
  const formats::Gguf* gguf_;
  HfQuantization quantization_;
  int experts_;
  std::vector<std::vector<float>> scales_;
  std::vector<std::vector<std::int32_t>> orders_;
  std::set<const formats::Tensor*> used_;
  std::optional<formats::FileError> fault_;
};

}  // namespace forge::checkpoint::detail
