// a + b, a in b and the like, of any types.
#include <algorithm>

#include "filters.h"
#include "format.h"
#include "interpreter.h"
#include "numbers.h"

namespace forge::chat::detail {
namespace {

[[noreturn]] void unsupported(const std::string& op, const Value& a, const Value& b) {
  for (const Value* const value : {&a, &b}) {
    if (value->is(Kind::undefined)) raise(Exception::undefined, value->undefined().message);
  }
  if (op == "+" && a.is_string()) {
    raise_type("can only concatenate str (not \"" + type_name(b) + "\") to str");
  }
  if (op == "+" && (a.is(Kind::list) || a.is(Kind::tuple))) {
    raise_type("can only concatenate " + type_name(a) + " (not \"" + type_name(b) + "\") to " +
               type_name(a));
  }
  const std::string name = op == "**" ? "** or pow()" : op;
  raise_type("unsupported operand type(s) for " + name + ": '" + type_name(a) + "' and '" +
             type_name(b) + "'");
}

Value joined(Interpreter& interpreter, const Value& a, const Value& b) {
  const bool markup = a.string().markup || b.string().markup;
  const Value left = markup ? escaped(interpreter, a) : a;
  const Value right = markup ? escaped(interpreter, b) : b;
  interpreter.budget().make(left.text().size() + right.text().size());
  return interpreter.text(std::string(left.text()) + std::string(right.text()), markup);
}

Value concatenated(Interpreter& interpreter, const Value& a, const Value& b) {
  std::vector<Value> elements = a.sequence().elements;
  const auto& more = b.sequence().elements;
  interpreter.budget().make(elements.size() + more.size(), sizeof(Value));
  elements.insert(elements.end(), more.begin(), more.end());
  return make_sequence(interpreter.budget(), a.kind(), std::move(elements));
}

/// text * count, list * count
Value repeated(Interpreter& interpreter, const Value& what, std::int64_t times) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
  if (what.is_string()) {
    const std::string_view text = what.text();
    interpreter.budget().make(count, text.size());
    std::string out;
    out.reserve(count * text.size());
    if (!text.empty()) {
      for (std::uint64_t i = 0; i < count; ++i) out += text;
    }
    return interpreter.text(std::move(out), what.string().markup);
  }
  const auto& elements = what.sequence().elements;
  interpreter.budget().make(count, elements.size() * sizeof(Value));
  std::vector<Value> out;
  out.reserve(count * elements.size());
  if (!elements.empty()) {
    for (std::uint64_t i = 0; i < count; ++i) {
      out.insert(out.end(), elements.begin(), elements.end());
    }
  }
  return make_sequence(interpreter.budget(), what.kind(), std::move(out));
}

bool can_repeat(const Value& value) {
  return value.is_string() || value.is(Kind::list) || value.is(Kind::tuple);
}

}  // namespace

Value binary(Interpreter& interpreter, const std::string& op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
  if (op == "+") {
    if (a.is_string() && b.is_string()) return joined(interpreter, a, b);
    const bool is_list = a.is(Kind::list) || a.is(Kind::tuple);
    if (is_list && a.kind() == b.kind()) return concatenated(interpreter, a, b);
  } else if (op == "*") {
    if (can_repeat(a) && b.is_integer()) return repeated(interpreter, a, b.integer());
    if (can_repeat(b) && a.is_integer()) return repeated(interpreter, b, a.integer());
  } else if (op == "%" && a.is_string()) {
    return percent_format(interpreter, a, b);
  }
  unsupported(op, a, b);
}

bool compare(Budget& budget, const std::string& op, const Value& a, const Value& b) {
  if (op == "<") return less(budget, a, b, "<");
  if (op == ">") return less(budget, b, a, ">");
  const bool is_number = a.is_number() && b.is_number();
  if (is_number) {
    // Not the opposite of the other order where one is not a number.
    return equal(budget, a, b) || (op == "<=" ? less(budget, a, b) : less(budget, b, a));
  }
  return op == "<=" ? !less(budget, b, a, "<=") : !less(budget, a, b, ">=");
}

bool contains(Interpreter& interpreter, const Value& container, const Value& element) {
  Budget& budget = interpreter.budget();
  if (container.is_string()) {
    if (!element.is_string()) {
      if (element.is(Kind::undefined)) {
        raise_type("'in <string>' requires string as left operand, not Undefined");
      }
      raise_type("'in <string>' requires string as left operand, not " + type_name(element));
    }
    return container.text().find(element.text()) != std::string_view::npos;
  }
  if (container.is(Kind::dict)) {
    check_hashable(element);
    return container.dict().find(budget, element) < container.dict().members.size();
  }
  if (!is_iterable(container)) {
    raise_type("argument of type '" + type_name(container) + "' is not iterable");
  }
  Iteration elements(budget, container);
  while (const auto one = elements.next()) {
    if (equal(budget, *one, element)) return true;
  }
  return false;
}

}  // namespace forge::chat::detail
