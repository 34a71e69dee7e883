// The tests of jinja2: what stands after `is`.
#pragma once

#include <string_view>

#include "interpreter.h"

namespace forge::chat::detail {

using Test = bool (*)(Interpreter&, const Value& value, Arguments& arguments);

/// The test of that name; null where there is none.
Test find_test(std::string_view name);
inline bool is_test(std::string_view name) { return find_test(name) != nullptr; }

}  // namespace forge::chat::detail
