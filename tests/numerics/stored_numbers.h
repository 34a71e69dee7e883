// StoredNumbers: the memory of a KV cache of any type, number by number.
#pragma once

#include <cstddef>
#include <limits>
#include <variant>
#include <vector>

#include "forge/numerics/kv_type.h"

namespace forge::numerics {

class StoredNumbers {
 public:
  /// `count` times NaN.
  StoredNumbers(KvType type, std::size_t count) {
    switch (type) {
      case KvType::f32:
        numbers_ = nothing<float>(count);
        break;
      case KvType::bf16:
        numbers_ = nothing<BF16>(count);
        break;
      case KvType::f16:
        numbers_ = nothing<F16>(count);
    }
  }

  void set(std::size_t index, float x) {
    std::visit([&](auto& numbers) { put(numbers[index], x); }, numbers_);
  }
  void forget(std::size_t index) { set(index, kNothing); }
  float operator[](std::size_t index) const {
    return std::visit([&](const auto& numbers) { return widened(numbers[index]); }, numbers_);
  }
  const void* data() const {
    return std::visit([](const auto& numbers) -> const void* { return numbers.data(); }, numbers_);
  }
  /// Where number `index` lies.
  const void* at(std::size_t index) const {
    return std::visit([&](const auto& numbers) -> const void* { return &numbers[index]; },
                      numbers_);
  }

 private:
  static constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

  template <class Stored>
  static std::vector<Stored> nothing(std::size_t count) {
    return std::vector<Stored>(count, stored<Stored>(kNothing));
  }
  template <class Stored>
  static void put(Stored& number, float x) {
    number = stored<Stored>(x);
  }

  std::variant<std::vector<float>, std::vector<BF16>, std::vector<F16>> numbers_;
};

}  // namespace forge::numerics
