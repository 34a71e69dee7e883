// The filters of jinja2, and `tojson` as `transformers` has it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter.h"

namespace forge::chat::detail {

using Filter = Value (*)(Interpreter&, const Value& value, Arguments& arguments);

/// The filter of that name; null where there is none.
Filter find_filter(std::string_view name);
inline bool is_filter(std::string_view name) { return find_filter(name) != nullptr; }
/// Why there is none.
std::string unknown_filter(std::string_view name);

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
// The filters by what they are about, each list in a file of its own.
extern const std::span<const NamedFilter> kTextFilters;
extern const std::span<const NamedFilter> kListFilters;
extern const std::span<const NamedFilter> kSelectFilters;
extern const std::span<const NamedFilter> kNumberFilters;

/// Goes from a value to what it has under a path: "function.name", "calls.0", an index, or nothing.
class AttributePath {
 public:
  AttributePath(Interpreter& interpreter, const Value* path);

  /// The value at the end of the path; `fallback` stands for what is undefined on it.
  Value of(const Value& value, const Value* fallback = nullptr) const;
  /// The same with text in lower case.
  Value key_of(const Value& value, bool case_sensitive, const Value* fallback = nullptr) const;

 private:
  Interpreter& interpreter_;
  std::vector<Value> parts_;
};

/// Markup of the value's text, with what HTML gives a meaning replaced.
Value escaped(Interpreter& interpreter, const Value& value);

/// json.dumps()
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
std::string json_text(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace forge::chat::detail
