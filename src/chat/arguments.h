// The arguments of a call, and of a native function by the names of its parameters.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value.h"

namespace forge::chat::detail {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  bool empty() const { return positional.empty() && named.empty(); }
  /// The argument of that name, which is taken out; nothing where there is none.
  std::optional<Value> take(std::string_view name);
};

/// What each parameter of a native function has been given. Errors are raised: too many arguments,
/// one that is no parameter, one that is given twice, one that is missing.
class Given {
 public:
  /// The first `required` of `names` must be given.
  Given(Arguments& arguments, std::initializer_list<const char*> names, std::size_t required = 0);

  /// The value of a parameter, by its place; null where it is not given.
  const Value* at(std::size_t place) const {
    return values_[place].is(Kind::missing) ? nullptr : &values_[place];
  }
  /// The same, and null where it is None.
  const Value* some(std::size_t place) const {
    return values_[place].is(Kind::none) ? nullptr : at(place);
  }
  const Value& required(std::size_t place) const { return values_[place]; }

  std::int64_t integer(std::size_t place, std::int64_t fallback) const;
  bool boolean(std::size_t place, bool fallback) const;
  /// The text of a parameter. Errors (raised): it is no text.
  std::string_view text(std::size_t place, std::string_view fallback) const;

 private:
  std::vector<Value> values_;
};

/// An index or a count. Errors (raised): TypeError.
std::int64_t integer_of(const Value& value);

/// A text. Errors (raised): TypeError.
std::string_view text_argument(const Value& value);

}  // namespace forge::chat::detail
