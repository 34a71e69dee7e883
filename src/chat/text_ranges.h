// Parts of texts by code points, as Python counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "value.h"

namespace forge::chat::detail {

/// The byte at which character `index` begins. Requires: index <= characters.
std::size_t byte_of(Budget& budget, const String& text, std::size_t index);

/// Characters [start, stop) of `text`, within it.
std::string_view characters(Budget& budget, const String& text, std::int64_t start,
                            std::int64_t stop);

/// Where a slice begins and ends in `length` elements and how many it takes; as Python's
/// slice.indices().
struct SliceRange {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
SliceRange slice_range(const Value& start, const Value& stop, const Value& step,
                       std::int64_t length);

}  // namespace forge::chat::detail
