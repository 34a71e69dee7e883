// The methods of Python's types.
#pragma once

#include <span>
#include <string_view>

#include "interpreter.h"

namespace forge::chat::detail {

struct NamedMethod {
  std::string_view name;
  Function::Native method;
};
// Those of str, in two files: what they find and how they cut, and what they make of a text.
extern const std::span<const NamedMethod> kTextSearchMethods;
extern const std::span<const NamedMethod> kTextChangeMethods;

/// str.split(separator, most) and rsplit(); None, as null, is runs of white space.
Value split_text(Interpreter& interpreter, const Value& text, const Value* separator,
                 std::int64_t most);
Value split_text_from_right(Interpreter& interpreter, const Value& text, const Value* separator,
                            std::int64_t most);
/// str.replace(old, now, most); below 0 all.
std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view now, std::int64_t most);
/// str.strip(characters): the text without those at its start or at its end.
std::string_view stripped(Budget& budget, std::string_view text, const Value* characters, bool left,
                          bool right);
/// separator.join(parts)
Value join_texts(Interpreter& interpreter, std::string_view separator,
                 const std::vector<std::string>& parts, bool markup);

}  // namespace forge::chat::detail
