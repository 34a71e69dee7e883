// must(result): the value of an expected that cannot be an error here, or abort with the
// error's text. For callers whose own invariants rule the failure out.
#pragma once

#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "forge/core/check.h"

namespace forge {

template <class T, class E>
T must(tl::expected<T, E> result) {
  FORGE_CHECK(result.has_value(), to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace forge
