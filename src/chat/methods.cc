// Methods of dict, list and the rest, and which type has which.
#include "methods.h"

#include <algorithm>
#include <cmath>

#include "loop.h"
#include "numbers.h"

namespace forge::chat::detail {
namespace {

Value dict_get(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"key", "default"}, 1);
  const std::size_t at = self.dict().find(interpreter.budget(), given.required(0));
  if (at < self.dict().members.size()) return self.dict().members[at].second;
  return given.at(1) == nullptr ? Value() : *given.at(1);
}

template <Kind kView>
Value dict_view(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  Budget& budget = interpreter.budget();
  const auto& members = self.dict().members;
  std::vector<Value> elements;
  elements.reserve(members.size());
  for (const auto& [key, value] : members) {
    if (kView == Kind::keys) {
      elements.push_back(key);
    } else if (kView == Kind::values) {
      elements.push_back(value);
    } else {
      elements.push_back(make_tuple(budget, {key, value}));
    }
  }
  return make_sequence(budget, kView, std::move(elements));
}

Value copy(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  if (self.is(Kind::list)) return interpreter.list(self.sequence().elements);
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, value] : self.dict().members) {
    dict->set(interpreter.budget(), key, value);
  }
  return make_dict(interpreter.budget(), std::move(dict));
}

Value list_count(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"value"}, 1);
  Budget& budget = interpreter.budget();
  Iteration elements(budget, self);
  std::int64_t times = 0;
  while (const auto element = elements.next()) {
    if (equal(budget, *element, given.required(0))) ++times;
  }
  return Value(times);
}

Value list_index(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"value", "start", "stop"}, 1);
  Budget& budget = interpreter.budget();
  const std::int64_t length = *length_of(self);
  const auto bound = [&](std::size_t place, std::int64_t fallback) {
    const std::int64_t at = given.integer(place, fallback);
    return std::clamp<std::int64_t>(at < 0 ? at + length : at, 0, length);
  };
  const std::int64_t stop = bound(2, length);
  for (std::int64_t at = bound(1, 0); at < stop; ++at) {
    const Value element = self.is(Kind::range)
                              ? self.range().at(at)
                              : self.sequence().elements[static_cast<std::size_t>(at)];
    if (equal(budget, element, given.required(0))) return Value(at);
  }
  raise(Exception::value, repr_of(budget, given.required(0)) + " is not in " + type_name(self));
}

Value is_integer(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  return Value(!self.is(Kind::floating) || std::floor(self.floating()) == self.floating());
}

Value bit_length(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  auto size = static_cast<std::uint64_t>(self.integer());
  if (self.integer() < 0) size = 0 - size;
  std::int64_t bits = 0;
  for (; size > 0; size >>= 1U) ++bits;
  return Value(bits);
}

Value loop_cycle(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const auto& values = arguments.positional;
  if (!arguments.named.empty()) raise_type("got an unexpected keyword argument");
  if (values.empty()) raise_type("no items for cycling given");
  const auto at = static_cast<std::size_t>(self.as<Loop>().index0);
  return values[at % values.size()];
}

Value loop_changed(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Loop& loop = self.as<Loop>();
  Value values = make_tuple(interpreter.budget(), std::move(arguments.positional));
  if (!loop.last_changed.is(Kind::missing) &&
      equal(interpreter.budget(), loop.last_changed, values)) {
    return Value(false);
  }
  loop.last_changed = std::move(values);
  return Value(true);
}

constexpr NamedMethod kDictMethods[] = {
    {"copy", copy},
    {"get", dict_get},
    {"items", dict_view<Kind::items>},
    {"keys", dict_view<Kind::keys>},
    {"values", dict_view<Kind::values>},
};
constexpr NamedMethod kListMethods[] = {
    {"copy", copy}, {"count", list_count}, {"index", list_index}};
constexpr NamedMethod kTupleMethods[] = {{"count", list_count}, {"index", list_index}};
constexpr NamedMethod kIntegerMethods[] = {{"bit_length", bit_length}};
constexpr NamedMethod kDoubleMethods[] = {{"is_integer", is_integer}};
constexpr NamedMethod kLoopMethods[] = {{"changed", loop_changed}, {"cycle", loop_cycle}};

// What the sandbox hides: it would change the value.
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListChanges[] = {"append", "clear", "pop",    "reverse",
                                             "insert", "sort",  "extend", "remove"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Function::Native find_in(std::span<const NamedMethod> methods, std::string_view name) {
  for (const NamedMethod& method : methods) {
    if (method.name == name) return method.method;
  }
  return nullptr;
}

Function::Native find_method(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::string: {
      const auto found = find_in(kTextSearchMethods, name);
      return found != nullptr ? found : find_in(kTextChangeMethods, name);
    }
    case Kind::dict:
      return find_in(kDictMethods, name);
    case Kind::list:
      return find_in(kListMethods, name);
    case Kind::tuple:
    case Kind::range:
      return find_in(kTupleMethods, name);
    case Kind::boolean:
    case Kind::integer:
      return find_in(kIntegerMethods, name);
    case Kind::floating:
      return find_in(kDoubleMethods, name);
    case Kind::loop:
      return find_in(kLoopMethods, name);
    default:
      return nullptr;
  }
}

/// Attributes of numbers that are no methods.
std::optional<Value> number_attribute(const Value& object, std::string_view name) {
  if (!object.is_number()) return std::nullopt;
  const bool is_int = object.is_integer();
  if (name == "real" || (is_int && name == "numerator")) {
    return is_int ? Value(object.integer()) : object;
  }
  if (name == "imag") return is_int ? Value(std::int64_t{0}) : Value(0.0);
  if (is_int && name == "denominator") return Value(std::int64_t{1});
  return std::nullopt;
}

/// Attributes that every Python object has, and more that the sandbox hides.
bool is_hidden(const Value& object, std::string_view name) {
  if (name == "__class__" || name == "__init__" || name == "__doc__" || name == "__dict__") {
    return true;
  }
  return (object.is(Kind::dict) && is_one_of(kDictChanges, name)) ||
         (object.is(Kind::list) && is_one_of(kListChanges, name));
}

}  // namespace

Value method(Interpreter& interpreter, const Value& object, std::string_view name) {
  if (object.is(Kind::space)) return Value::missing();
  if (is_hidden(object, name)) {
    return make_undefined("access to attribute " + repr_of_text(name) + " of '" +
                              type_name(object) + "' object is unsafe.",
                          true);
  }
  if (const auto value = number_attribute(object, name)) return *value;
  const Function::Native native = find_method(object, name);
  if (native == nullptr) return Value::missing();
  interpreter.budget().make(sizeof(Function));
  auto function = std::make_shared<Function>();
  function->name = std::string(name);
  function->self = object;
  function->native = native;
  function->depth = one_deeper(depth_of(object));
  return {Kind::function, std::move(function)};
}

}  // namespace forge::chat::detail
