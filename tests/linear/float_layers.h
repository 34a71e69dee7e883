// Layers stored as plain floats, made from random numbers, that tests of products share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "forge/linear/product.h"
#include "forge/numerics/half.h"
#include "numerics/test_values.h"

namespace forge::linear {

/// `values` as a tensor of `type`, one of the three plain types.
inline std::vector<std::byte> stored(quant::WeightType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes;
  const auto append = [&](const auto& number) {
    const auto* const first = reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), first, first + sizeof number);
  };
  for (const float value : values) {
    switch (type) {
      case quant::WeightType::f16:
        append(numerics::to_f16(value).bits);
        break;
      case quant::WeightType::bf16:
        append(numerics::to_bf16(value).bits);
        break;
      default:
        append(value);
    }
  }
  return bytes;
}

/// Parts of a layer and the memory that they borrow.
class StoredParts {
 public:
  explicit StoredParts(int inputs) : inputs_(inputs) {}

  StoredParts& add(quant::WeightType type, int outputs, std::uint64_t seed = 1) {
    return add(type, outputs, numerics::random_values(outputs * inputs_, seed));
  }
  StoredParts& add(quant::WeightType type, int outputs, const std::vector<float>& values) {
    memory_.push_back(stored(type, values));
    parts_.push_back({outputs, inputs_, StoredRows{type, memory_.back().data()}});
    return *this;
  }

  const std::vector<StoredLinear>& parts() const { return parts_; }
  int inputs() const { return inputs_; }
  int outputs() const {
    int outputs = 0;
    for (const StoredLinear& part : parts_) outputs += part.outputs;
    return outputs;
  }

 private:
  int inputs_;
  std::vector<StoredLinear> parts_;
  std::deque<std::vector<std::byte>> memory_;  // which stays where it is
};

inline std::vector<float> product(const std::vector<float>& x, int rows, const LinearWeights& w,
                                  ThreadPool& pool) {
  std::vector<float> y(static_cast<std::size_t>(rows * w.outputs()), -1.0F);
  ProductScratch scratch;
  multiply({x.data(), rows}, w, y.data(), scratch, pool);
  return y;
}

inline std::vector<float> product_by_definition(const std::vector<float>& x, int rows,
                                                const StoredParts& layer) {
  std::vector<float> y(static_cast<std::size_t>(rows * layer.outputs()), -1.0F);
  multiply_reference(x.data(), rows, layer.parts(), y.data());
  return y;
}

}  // namespace forge::linear
