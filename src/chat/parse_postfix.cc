// What follows a value in an expression: attributes, items, calls, filters, tests.
#include <algorithm>

#include "parser.h"

namespace forge::chat::detail {

ExprPtr ExpressionParser::postfix(ExprPtr value) {
  while (true) {
    if (tokens_.now().is_op(".") || tokens_.now().is_op("[")) {
      value = subscript(std::move(value));
    } else if (tokens_.now().is_op("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr value) {
  while (true) {
    if (tokens_.now().is_op("|")) {
      value = filters(std::move(value));
    } else if (tokens_.now().is_name("is")) {
      value = test(std::move(value));
    } else if (tokens_.now().is_op("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr value) {
  const std::uint32_t line = tokens_.now().line;
  if (tokens_.next().is_op("[")) {
    ExprPtr expr = subscripted(std::move(value));
    expr->line = line;
    return expr;
  }
  ExprPtr expr = make(ExprKind::attribute, line);
  add(*expr, std::move(value));
  if (tokens_.now().kind == TokenKind::name) {
    expr->text = tokens_.next().text;
    return expr;
  }
  if (tokens_.now().kind != TokenKind::integer) tokens_.fail("expected name or number");
  expr->kind = ExprKind::item;
  ExprPtr index = make(ExprKind::constant, line);
  index->constant = Value(tokens_.next().integer);
  add(*expr, std::move(index));
  return expr;
}

/// What is between "[" and "]": an index, several, or a slice.
ExprPtr ExpressionParser::subscripted(ExprPtr object) {
  ExprPtr expr = make(ExprKind::item, object->line);
  add(*expr, std::move(object));
  std::vector<ExprPtr> parts;
  bool is_slice = false;
  bool has_comma = false;
  while (!tokens_.now().is_op("]")) {
    if (!parts.empty()) {
      tokens_.expect_op(",");
      has_comma = true;
    }
    ExprPtr first = tokens_.now().is_op(":") ? nullptr : expression();
    if (!tokens_.now().is_op(":")) {
      parts.push_back(std::move(first));
      continue;
    }
    if (!parts.empty()) tokens_.fail("a slice beside another index is not supported");
    is_slice = true;
    parts.push_back(std::move(first));
    for (int i = 0; i < 2; ++i) {
      const bool has_colon = tokens_.skip_op(":");
      const bool is_empty =
          tokens_.now().is_op(":") || tokens_.now().is_op("]") || tokens_.now().is_op(",");
      parts.push_back(has_colon && !is_empty ? expression() : nullptr);
    }
  }
  tokens_.expect_op("]");
  if (is_slice && has_comma) tokens_.fail("a slice beside another index is not supported");
  if (is_slice || parts.size() == 1) {
    if (is_slice) expr->kind = ExprKind::slice;
    for (ExprPtr& part : parts) add(*expr, std::move(part));
    return expr;
  }
  ExprPtr index = make(ExprKind::tuple, expr->line);
  for (ExprPtr& part : parts) add(*index, std::move(part));
  add(*expr, std::move(index));
  return expr;
}

void ExpressionParser::call_argument(Expr& expr) {
  CallArguments& arguments = expr.arguments;
  const auto ensure = [&](bool condition) {
    if (!condition) tokens_.fail("invalid syntax for function call expression");
  };
  const auto deepen = [&](ExprPtr part) {
    add(expr, std::move(part));
    part = std::move(expr.parts.back());
    expr.parts.pop_back();
    return part;
  };
  if (tokens_.skip_op("*")) {
    ensure(arguments.list == nullptr && arguments.dict == nullptr);
    arguments.list = deepen(expression());
  } else if (tokens_.skip_op("**")) {
    ensure(arguments.dict == nullptr);
    arguments.dict = deepen(expression());
  } else if (tokens_.now().kind == TokenKind::name && tokens_.following().is_op("=")) {
    ensure(arguments.dict == nullptr);
    std::string name = tokens_.next().text;
    tokens_.next();
    for (const auto& [other, value] : arguments.named) {
      if (other == name) tokens_.fail("keyword argument repeated: " + name);
    }
    arguments.named.emplace_back(std::move(name), deepen(expression()));
  } else {
    ensure(arguments.list == nullptr && arguments.dict == nullptr && arguments.named.empty());
    arguments.positional.push_back(deepen(expression()));
  }
}

void ExpressionParser::call_arguments(Expr& expr) {
  tokens_.expect_op("(");
  bool is_first = true;
  while (!tokens_.now().is_op(")")) {
    if (!is_first) {
      tokens_.expect_op(",");
      if (tokens_.now().is_op(")")) break;
    }
    is_first = false;
    call_argument(expr);
  }
  tokens_.expect_op(")");
}

ExprPtr ExpressionParser::call(ExprPtr callee) {
  ExprPtr expr = make(ExprKind::call, tokens_.now().line);
  add(*expr, std::move(callee));
  call_arguments(*expr);
  return expr;
}

std::string ExpressionParser::dotted_name() {
  std::string name = tokens_.expect_any_name();
  while (tokens_.skip_op(".")) name += "." + tokens_.expect_any_name();
  return name;
}

ExprPtr ExpressionParser::filters(ExprPtr value, bool bar) {
  while (tokens_.now().is_op("|") || !bar) {
    if (bar) tokens_.next();
    bar = true;
    ExprPtr expr = make(ExprKind::filter, tokens_.now().line);
    expr->text = dotted_name();
    add(*expr, std::move(value));
    if (tokens_.now().is_op("(")) call_arguments(*expr);
    value = std::move(expr);
  }
  return value;
}

ExprPtr ExpressionParser::test(ExprPtr value) {
  tokens_.next();
  const bool is_negated = tokens_.skip_name("not");
  ExprPtr expr = make(ExprKind::test, tokens_.now().line);
  expr->text = dotted_name();
  add(*expr, std::move(value));
  const Token& token = tokens_.now();
  const bool has_argument = token.kind == TokenKind::name || token.kind == TokenKind::string ||
                            token.kind == TokenKind::integer || token.kind == TokenKind::floating ||
                            token.is_op("[") || token.is_op("{");
  if (token.is_op("(")) {
    call_arguments(*expr);
  } else if (has_argument && !token.is_name("else") && !token.is_name("or") &&
             !token.is_name("and")) {
    if (token.is_name("is")) tokens_.fail("You cannot chain multiple tests with is");
    ExprPtr argument = postfix(primary());
    expr->depth = std::max(expr->depth, argument->depth + 1);
    expr->arguments.positional.push_back(std::move(argument));
  }
  if (!is_negated) return expr;
  ExprPtr negated = make(ExprKind::logical_not, expr->line);
  add(*negated, std::move(expr));
  return negated;
}

}  // namespace forge::chat::detail
