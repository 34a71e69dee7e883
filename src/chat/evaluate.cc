// Expressions.
#include "interpreter.h"
#include "interpreter_guards.h"
#include "numbers.h"

namespace forge::chat::detail {

Value Interpreter::evaluate(const Expr& expr) {
  const Depth depth(*this);
  line_ = expr.line;
  switch (expr.kind) {
    case ExprKind::constant:
      return expr.constant;
    case ExprKind::name:
      return load(expr);
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::dict:
      return evaluate_container(expr);
    case ExprKind::unary:
      return evaluate_unary(expr);
    case ExprKind::binary:
      return evaluate_binary(expr);
    case ExprKind::logical_not:
    case ExprKind::logical_and:
    case ExprKind::logical_or:
      return evaluate_logic(expr);
    case ExprKind::compare:
      return evaluate_compare(expr);
    case ExprKind::concat:
      return evaluate_concat(expr);
    case ExprKind::conditional:
      return evaluate_conditional(expr);
    case ExprKind::attribute:
      return attribute(evaluate(*expr.parts[0]), expr.text);
    case ExprKind::item: {
      const Value object = evaluate(*expr.parts[0]);
      return item(object, evaluate(*expr.parts[1]));
    }
    case ExprKind::slice:
      return evaluate_slice(expr);
    case ExprKind::call:
      return evaluate_call(expr, nullptr);
    case ExprKind::filter:
      return evaluate_filter(expr, nullptr);
    case ExprKind::test:
      return evaluate_test(expr);
    case ExprKind::space_name:
      break;
  }
  return {};
}

Value Interpreter::evaluate_container(const Expr& expr) {
  if (expr.kind == ExprKind::dict) {
    auto dict = std::make_shared<Dict>();
    for (std::size_t i = 0; i < expr.parts.size(); i += 2) {
      const Value key = evaluate(*expr.parts[i]);
      Value value = evaluate(*expr.parts[i + 1]);
      check_hashable(key);
      dict->set(budget_, key, std::move(value));
    }
    return make_dict(budget_, std::move(dict));
  }
  std::vector<Value> elements;
  elements.reserve(expr.parts.size());
  for (const ExprPtr& part : expr.parts) elements.push_back(evaluate(*part));
  const Kind kind = expr.kind == ExprKind::list ? Kind::list : Kind::tuple;
  return make_sequence(budget_, kind, std::move(elements));
}

Value Interpreter::evaluate_unary(const Expr& expr) {
  const Value value = evaluate(*expr.parts[0]);
  line_ = expr.line;
  if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
  if (!value.is_number()) {
    raise_type("bad operand type for unary " + expr.text + ": '" + type_name(value) + "'");
  }
  if (expr.text == "-") return negated(value);
  return value.is(Kind::boolean) ? Value(value.integer()) : value;
}

Value Interpreter::evaluate_binary(const Expr& expr) {
  const Value left = evaluate(*expr.parts[0]);
  const Value right = evaluate(*expr.parts[1]);
  line_ = expr.line;
  const Construct construct("operator", expr.text);
  return construct.run([&] { return binary(*this, expr.text, left, right); });
}

Value Interpreter::evaluate_logic(const Expr& expr) {
  Value left = evaluate(*expr.parts[0]);
  if (expr.kind == ExprKind::logical_not) return Value(!truth(left));
  if (truth(left) == (expr.kind == ExprKind::logical_or)) return left;
  return evaluate(*expr.parts[1]);
}

Value Interpreter::evaluate_compare(const Expr& expr) {
  Value left = evaluate(*expr.parts[0]);
  for (std::size_t i = 0; i < expr.operators.size(); ++i) {
    Value right = evaluate(*expr.parts[i + 1]);
    const std::string& op = expr.operators[i];
    line_ = expr.line;
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = equal(budget_, left, right) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = contains(*this, right, left) == (op == "in");
    } else {
      holds = compare(budget_, op, left, right);
    }
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_concat(const Expr& expr) {
  std::string joined;
  for (const ExprPtr& part : expr.parts) {
    const std::string text = str(evaluate(*part));
    budget_.make(text.size());
    joined += text;
  }
  return text(std::move(joined));
}

Value Interpreter::evaluate_conditional(const Expr& expr) {
  if (truth(evaluate(*expr.parts[0]))) return evaluate(*expr.parts[1]);
  if (expr.parts[2] != nullptr) return evaluate(*expr.parts[2]);
  return make_undefined("the inline if-expression on line " + std::to_string(expr.line) +
                        " evaluated to false and no else section was defined.");
}

Value Interpreter::evaluate_slice(const Expr& expr) {
  const Value object = evaluate(*expr.parts[0]);
  const auto bound = [&](std::size_t i) {
    return expr.parts[i] == nullptr ? Value() : evaluate(*expr.parts[i]);
  };
  SliceBounds bounds;
  bounds.start = bound(1);
  bounds.stop = bound(2);
  bounds.step = bound(3);
  line_ = expr.line;
  return slice(*this, object, bounds);
}

Arguments Interpreter::evaluate_arguments(const CallArguments& given) {
  Arguments arguments;
  arguments.positional.reserve(given.positional.size());
  for (const ExprPtr& expr : given.positional) arguments.positional.push_back(evaluate(*expr));
  arguments.named.reserve(given.named.size());
  for (const auto& [name, expr] : given.named) arguments.named.emplace_back(name, evaluate(*expr));
  if (given.list != nullptr) {
    for (Value& value : collect(budget_, evaluate(*given.list))) {
      arguments.positional.push_back(std::move(value));
    }
  }
  if (given.dict != nullptr) {
    const Value dict = evaluate(*given.dict);
    if (!dict.is(Kind::dict)) {
      raise_type("argument after ** must be a mapping, not " + type_name(dict));
    }
    for (const auto& [key, value] : dict.dict().members) {
      if (!key.is_string()) raise_type("keywords must be strings");
      for (const auto& [name, other] : arguments.named) {
        if (name != key.text()) continue;
        raise_type("got multiple values for keyword argument '" + name + "'");
      }
      arguments.named.emplace_back(key.text(), value);
    }
    budget_.step(arguments.named.size() * arguments.named.size());
  }
  return arguments;
}

Value Interpreter::evaluate_call(const Expr& expr, const Value* caller) {
  const Value callee = evaluate(*expr.parts[0]);
  Arguments arguments = evaluate_arguments(expr.arguments);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  line_ = expr.line;
  return call(callee, arguments);
}

Value Interpreter::evaluate_filter(const Expr& expr, const Value* filtered) {
  const bool is_innermost = expr.parts[0] == nullptr;
  const Value value = is_innermost ? *filtered
                      : expr.parts[0]->kind == ExprKind::filter
                          ? evaluate_filter(*expr.parts[0], filtered)
                          : evaluate(*expr.parts[0]);
  Arguments arguments = evaluate_arguments(expr.arguments);
  line_ = expr.line;
  return filter(expr.text, value, arguments);
}

Value Interpreter::evaluate_test(const Expr& expr) {
  const Value value = evaluate(*expr.parts[0]);
  Arguments arguments = evaluate_arguments(expr.arguments);
  line_ = expr.line;
  return Value(test(expr.text, value, arguments));
}

}  // namespace forge::chat::detail
