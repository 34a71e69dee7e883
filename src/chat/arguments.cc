#include "arguments.h"

#include <algorithm>

namespace forge::chat::detail {

std::optional<Value> Arguments::take(std::string_view name) {
  const auto found =
      std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == name; });
  if (found == named.end()) return std::nullopt;
  Value value = std::move(found->second);
  named.erase(found);
  return value;
}

Given::Given(Arguments& arguments, std::initializer_list<const char*> names, std::size_t required)
    : values_(names.size(), Value::missing()) {
  if (arguments.positional.size() > names.size()) {
    raise_type("takes at most " + std::to_string(names.size()) + " arguments (" +
               std::to_string(arguments.positional.size()) + " given)");
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (auto& [name, value] : arguments.named) {
    const auto* const found = std::find(names.begin(), names.end(), std::string_view(name));
    if (found == names.end()) raise_type("got an unexpected keyword argument '" + name + "'");
    Value& place = values_[static_cast<std::size_t>(found - names.begin())];
    if (!place.is(Kind::missing)) raise_type("got multiple values for argument '" + name + "'");
    place = std::move(value);
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!values_[i].is(Kind::missing)) continue;
    raise_type("missing 1 required positional argument: '" + std::string(names.begin()[i]) + "'");
  }
}

std::int64_t Given::integer(std::size_t place, std::int64_t fallback) const {
  return at(place) == nullptr ? fallback : integer_of(values_[place]);
}

bool Given::boolean(std::size_t place, bool fallback) const {
  return at(place) == nullptr ? fallback : truth(values_[place]);
}

std::string_view Given::text(std::size_t place, std::string_view fallback) const {
  return at(place) == nullptr ? fallback : text_argument(values_[place]);
}

std::int64_t integer_of(const Value& value) {
  if (value.is_integer()) return value.integer();
  if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
  raise_type("'" + type_name(value) + "' object cannot be interpreted as an integer");
}

std::string_view text_argument(const Value& value) {
  if (value.is_string()) return value.text();
  raise_type("argument must be str, not " + type_name(value));
}

}  // namespace forge::chat::detail
