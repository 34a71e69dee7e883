#include "value_tests.h"

#include "filters.h"
#include "numbers.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

template <bool (*kHolds)(const Value&)>
bool plain(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return kHolds(value);
}

bool is_defined(const Value& value) { return !value.is(Kind::undefined); }
bool is_undefined(const Value& value) { return value.is(Kind::undefined); }
bool is_none(const Value& value) { return value.is(Kind::none); }
bool is_boolean(const Value& value) { return value.is(Kind::boolean); }
bool is_true(const Value& value) { return is_boolean(value) && value.boolean(); }
bool is_false(const Value& value) { return is_boolean(value) && !value.boolean(); }
bool is_integer(const Value& value) { return value.is(Kind::integer); }
bool is_float(const Value& value) { return value.is(Kind::floating); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_string(); }
bool is_mapping(const Value& value) { return value.is(Kind::dict); }
bool is_escaped(const Value& value) { return value.is_string() && value.string().markup; }
bool can_iterate(const Value& value) { return is_iterable(value) || value.is(Kind::loop); }
bool is_callable(const Value& value) {
  return value.is(Kind::function) || value.is(Kind::macro) || value.is(Kind::undefined) ||
         value.is(Kind::loop);
}

bool is_sequence(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::string:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::range:
      return true;
    default:
      return false;
  }
}

/// value % number == rest
bool has_remainder(Interpreter& interpreter, const Value& value, const Value& number,
                   std::int64_t rest) {
  const Value remainder = binary(interpreter, "%", value, number);
  return equal(interpreter.budget(), remainder, Value(rest));
}

template <std::int64_t kRest>
bool parity(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return has_remainder(interpreter, value, Value(std::int64_t{2}), kRest);
}

bool divisible_by(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"num"}, 1);
  return has_remainder(interpreter, value, given.required(0), 0);
}

template <bool kUpper>
bool in_case(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return is_in_case(interpreter.str(value), kUpper);
}

enum class Order : std::uint8_t { equal, different, less, at_most, more, at_least };

template <Order kOrder>
bool compared(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"other"}, 1);
  const Value& other = given.required(0);
  Budget& budget = interpreter.budget();
  switch (kOrder) {
    case Order::equal:
      return equal(budget, value, other);
    case Order::different:
      return !equal(budget, value, other);
    case Order::less:
      return compare(budget, "<", value, other);
    case Order::at_most:
      return compare(budget, "<=", value, other);
    case Order::more:
      return compare(budget, ">", value, other);
    case Order::at_least:
      return compare(budget, ">=", value, other);
  }
  return false;
}

bool same_as(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"other"}, 1);
  return same(value, given.required(0));
}

bool in(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"seq"}, 1);
  return contains(interpreter, given.required(0), value);
}

bool names_filter(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  check_hashable(value);
  return value.is_string() && is_filter(value.text());
}

bool names_test(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  check_hashable(value);
  return value.is_string() && is_test(value.text());
}

struct NamedTest {
  std::string_view name;
  Test test;
};

constexpr NamedTest kTests[] = {
    {"!=", compared<Order::different>},
    {"<", compared<Order::less>},
    {"<=", compared<Order::at_most>},
    {"==", compared<Order::equal>},
    {">", compared<Order::more>},
    {">=", compared<Order::at_least>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compared<Order::equal>},
    {"equalto", compared<Order::equal>},
    {"escaped", plain<is_escaped>},
    {"even", parity<0>},
    {"false", plain<is_false>},
    {"filter", names_filter},
    {"float", plain<is_float>},
    {"ge", compared<Order::at_least>},
    {"greaterthan", compared<Order::more>},
    {"gt", compared<Order::more>},
    {"in", in},
    {"integer", plain<is_integer>},
    {"iterable", plain<can_iterate>},
    {"le", compared<Order::at_most>},
    {"lessthan", compared<Order::less>},
    {"lower", in_case<false>},
    {"lt", compared<Order::less>},
    {"mapping", plain<is_mapping>},
    {"ne", compared<Order::different>},
    {"none", plain<is_none>},
    {"number", plain<is_number>},
    {"odd", parity<1>},
    {"sameas", same_as},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_string>},
    {"test", names_test},
    {"true", plain<is_true>},
    {"undefined", plain<is_undefined>},
    {"upper", in_case<true>},
};

}  // namespace

Test find_test(std::string_view name) {
  for (const NamedTest& one : kTests) {
    if (one.name == name) return one.test;
  }
  return nullptr;
}

}  // namespace forge::chat::detail
