// room: memory for intermediate results, which grows to the largest batch seen and then stays.
#pragma once

#include <cstddef>

#include "forge/numerics/aligned.h"

namespace forge::model::detail {

/// Room for `rows` rows of `width` floats; the buffer stays as it is if it suffices.
inline float* room(numerics::AlignedFloats& buffer, int rows, int width) {
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

inline std::ptrdiff_t offset(int row, int width) {
  return static_cast<std::ptrdiff_t>(row) * width;
}

}  // namespace forge::model::detail
