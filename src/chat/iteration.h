// Iteration: goes through a value, as Python's iter() does.
#pragma once

#include <optional>
#include <vector>

#include "value.h"

namespace forge::chat::detail {

class Iteration {
 public:
  /// Errors (raised): TypeError, it cannot be gone through.
  Iteration(Budget& budget, Value source);

  /// The next element. Each is a step of the budget.
  std::optional<Value> next();

  /// How many elements the source has, without going through it; nothing of a generator.
  std::optional<std::int64_t> length() const;

 private:
  Budget* budget_;
  Value source_;
  std::size_t at_ = 0;
};

bool is_iterable(const Value& value);

/// All elements that are left.
std::vector<Value> collect(Budget& budget, const Value& source);

/// len(value); nothing where it has none.
std::optional<std::int64_t> length_of(const Value& value);

}  // namespace forge::chat::detail
