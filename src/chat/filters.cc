#include "filters.h"

#include <algorithm>
#include <array>

#include "numbers.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

/// Filters that jinja2 has and this does not.
constexpr std::array<std::string_view, 6> kRefused = {"pprint", "random",   "striptags",
                                                      "urlize", "wordwrap", "xmlattr"};

}  // namespace

Filter find_filter(std::string_view name) {
  for (const auto& filters : {kTextFilters, kListFilters, kSelectFilters, kNumberFilters}) {
    for (const NamedFilter& one : filters) {
      if (one.name == name) return one.filter;
    }
  }
  return nullptr;
}

std::string unknown_filter(std::string_view name) {
  if (std::find(kRefused.begin(), kRefused.end(), name) != kRefused.end()) {
    return "the filter '" + std::string(name) + "' is not supported";
  }
  return "No filter named '" + std::string(name) + "'.";
}

AttributePath::AttributePath(Interpreter& interpreter, const Value* path)
    : interpreter_(interpreter) {
  if (path == nullptr || path->is(Kind::none)) return;
  if (!path->is_string()) {
    parts_.push_back(*path);
    return;
  }
  std::string_view rest = path->text();
  interpreter.budget().step(rest.size());
  while (true) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const bool is_index = !part.empty() && std::all_of(part.begin(), part.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
    const auto index = is_index ? parse_integer(part, 10) : std::nullopt;
    parts_.push_back(index ? Value(*index) : constant_string(std::string(part)));
    if (dot == rest.size()) return;
    rest.remove_prefix(dot + 1);
  }
}

Value AttributePath::of(const Value& value, const Value* fallback) const {
  Value at = value;
  for (const Value& part : parts_) {
    at = interpreter_.item(at, part);
    if (fallback != nullptr && at.is(Kind::undefined)) at = *fallback;
  }
  return at;
}

Value AttributePath::key_of(const Value& value, bool case_sensitive, const Value* fallback) const {
  Value key = of(value, fallback);
  if (case_sensitive || !key.is_string()) return key;
  return interpreter_.text(lower(key.text()));
}

}  // namespace forge::chat::detail
