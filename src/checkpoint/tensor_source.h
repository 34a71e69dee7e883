// TensorSource: the tensors of a checkpoint by their roles, each asked for with the shape that it
// must have, whatever file and form it is in.
//
// The first that is missing or not as asked becomes the fault; from then on everything asked for is
// empty, so that a builder asks for all it needs and looks at the fault now and then.
//
// Borrows the file. Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forge/checkpoint/hf_config.h"
#include "forge/checkpoint/tensor_file.h"
#include "forge/linear/stored_linear.h"

namespace forge::checkpoint::detail {

/// Says what is wrong with a tensor that has `value` at `place`, "3, 17", or, with is_scale, as the
/// scale of a block there. A number that is finite is not when it is rounded to 16 bits.
std::string not_finite(float value, const std::string& place, bool is_scale = false);

/// "[5, 24]".
std::string text_of(const std::vector<std::uint64_t>& shape);

/// The name of the layer whose weight is the tensor `name`.
std::string layer_of(const std::string& name);

/// What scales have to be, besides finite.
enum class ScaleRange : std::uint8_t {
  any_sign,  ///< of integers, and small enough that no product is infinite
  positive   ///< of floats of 8 bits
};

class TensorSource {
 public:
  /// The tensors of a model of `config`. Borrows both.
  TensorSource(const TensorFile& file, const HfConfig& config) : file_(file), config_(config) {}

  /// The weight `role` as floats. Needed: plain floats [size], all finite.
  std::vector<float> vector(const std::string& role, int size);

  /// The linear layer `role`, in whichever form it is there. Needed: a type of weights,
  /// [outputs][inputs], or a stack of such; or the tensors of a quantized form of that size.
  linear::StoredLinear matrix(const std::string& role, int outputs, int inputs);

  /// Whether there is a tensor for `role`.
  bool has(const std::string& role) const;

  bool failed() const { return fault_.has_value(); }
  const std::optional<formats::FileError>& fault() const { return fault_; }

  /// What matrices borrow and no file has as it is. The caller keeps it as long as they are in use.
  std::vector<std::vector<float>> take_scales() { return std::move(scales_); }
  std::vector<std::vector<std::int32_t>> take_orders() { return std::move(orders_); }
  std::vector<std::vector<std::byte>> take_copies() { return std::move(copies_); }

  /// The names of the file's tensors that nobody asked for and that concern inference.
  std::vector<std::string> unused() const;

 private:
  TensorName name_of(const std::string& role) const;
  const formats::Tensor* quantized(const std::string& name, formats::ElementType type,
                                   std::span<const std::uint64_t> shape);
  linear::StoredLinear whole(const TensorName& name, int outputs, int inputs);
  linear::StoredLinear part(const linear::StoredLinear& whole, const TensorName& name, int outputs);
  linear::StoredLinear rows(const formats::Tensor& tensor, const TensorName& name, int outputs,
                            int inputs);
  linear::StoredLinear int8_rows(const std::string& name, const formats::Tensor& tensor,
                                 int outputs, int inputs);
  linear::StoredLinear float8(const std::string& name, const formats::Tensor& tensor, int outputs,
                              int inputs);
  linear::StoredLinear groups(const std::string& name, int outputs, int inputs);
  linear::StoredLinear packed(const std::string& name, int outputs, int inputs);
  linear::StoredLinear stacked_columns(const TensorName& name, int outputs, int inputs);
  linear::StoredLinear mxfp4(const TensorName& name, int outputs, int inputs);
  void check_columns(const formats::Tensor& tensor, const TensorName& name,
                     const linear::StoredLinear& copy);
  bool set_packed_scales(const std::string& name, int outputs, int inputs,
                         linear::StoredGroups& form);
  void set_packed_zeros(const std::string& name, int outputs, int inputs,
                        linear::StoredGroups& form);
  void check_packed_shape(const std::string& name, int outputs, int inputs);
  std::vector<float> scale_floats(const formats::Tensor& tensor, ScaleRange range);
  std::span<const std::int32_t> group_order(const std::string& name, int inputs, int group_size);
  std::vector<float> floats(const formats::Tensor& tensor, std::size_t first, std::size_t count);
  void fail(const std::string& name, const formats::Tensor* tensor, const std::string& needed);

  const TensorFile& file_;
  const HfConfig& config_;
  std::vector<std::vector<float>> scales_;
  std::vector<std::vector<std::int32_t>> orders_;
  /// Of scales and zero points in another order, of experts, and of parts of matrices.
  std::vector<std::vector<std::byte>> copies_;
  std::map<std::string, linear::StoredLinear> fused_;  ///< those that have several, by tensor
  std::set<const formats::Tensor*> used_;
  std::optional<formats::FileError> fault_;
};

}  // namespace forge::checkpoint::detail
