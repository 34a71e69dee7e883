#include <algorithm>

#include "parser.h"

namespace forge::chat::detail {

ExprPtr ExpressionParser::make(ExprKind kind, std::uint32_t line) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  return expr;
}

void ExpressionParser::add(Expr& expr, ExprPtr part) const {
  if (part != nullptr) {
    expr.depth = std::max(expr.depth, part->depth + 1);
    if (expr.depth > kSyntaxDepthMax) {
      tokens_.fail("an expression nests deeper than " + std::to_string(kSyntaxDepthMax));
    }
  }
  expr.parts.push_back(std::move(part));
}

ExprPtr ExpressionParser::pair(ExprKind kind, std::string text, ExprPtr left, ExprPtr right) const {
  ExprPtr expr = make(kind, left->line);
  expr->text = std::move(text);
  add(*expr, std::move(left));
  add(*expr, std::move(right));
  return expr;
}

ExprPtr ExpressionParser::expression(bool with_condition) {
  const Nesting nesting(depth_, tokens_);
  ExprPtr value = logical_or();
  while (with_condition && tokens_.skip_name("if")) {
    ExprPtr expr = make(ExprKind::conditional, value->line);
    add(*expr, logical_or());
    add(*expr, std::move(value));
    add(*expr, tokens_.skip_name("else") ? expression() : nullptr);
    value = std::move(expr);
  }
  return value;
}

ExprPtr ExpressionParser::logical_or() {
  ExprPtr left = logical_and();
  while (tokens_.skip_name("or")) {
    left = pair(ExprKind::logical_or, "or", std::move(left), logical_and());
  }
  return left;
}

ExprPtr ExpressionParser::logical_and() {
  ExprPtr left = logical_not();
  while (tokens_.skip_name("and")) {
    left = pair(ExprKind::logical_and, "and", std::move(left), logical_not());
  }
  return left;
}

ExprPtr ExpressionParser::logical_not() {
  if (!tokens_.now().is_name("not")) return comparison();
  const Nesting nesting(depth_, tokens_);
  ExprPtr expr = make(ExprKind::logical_not, tokens_.next().line);
  add(*expr, logical_not());
  return expr;
}

/// Takes the operator of a comparison, if one is next; else an empty text.
std::string ExpressionParser::comparison_symbol() {
  constexpr std::string_view kSymbols[] = {"==", "!=", "<", "<=", ">", ">="};
  const Token& token = tokens_.now();
  if (token.kind == TokenKind::op &&
      std::find(std::begin(kSymbols), std::end(kSymbols), token.text) != std::end(kSymbols)) {
    return tokens_.next().text;
  }
  if (tokens_.skip_name("in")) return "in";
  if (!token.is_name("not") || !tokens_.following().is_name("in")) return "";
  tokens_.next();
  tokens_.next();
  return "not in";
}

ExprPtr ExpressionParser::comparison() {
  ExprPtr first = sum();
  std::string symbol = comparison_symbol();
  if (symbol.empty()) return first;
  ExprPtr expr = make(ExprKind::compare, first->line);
  add(*expr, std::move(first));
  for (; !symbol.empty(); symbol = comparison_symbol()) {
    expr->operators.push_back(symbol);
    add(*expr, sum());
  }
  return expr;
}

ExprPtr ExpressionParser::sum() {
  ExprPtr left = concatenation();
  while (tokens_.now().is_op("+") || tokens_.now().is_op("-")) {
    const std::string op = tokens_.next().text;
    left = pair(ExprKind::binary, op, std::move(left), concatenation());
  }
  return left;
}

ExprPtr ExpressionParser::concatenation() {
  ExprPtr first = product();
  if (!tokens_.now().is_op("~")) return first;
  ExprPtr expr = make(ExprKind::concat, first->line);
  add(*expr, std::move(first));
  while (tokens_.skip_op("~")) add(*expr, product());
  return expr;
}

ExprPtr ExpressionParser::product() {
  ExprPtr left = power();
  while (tokens_.now().is_op("*") || tokens_.now().is_op("/") || tokens_.now().is_op("//") ||
         tokens_.now().is_op("%")) {
    const std::string op = tokens_.next().text;
    left = pair(ExprKind::binary, op, std::move(left), power());
  }
  return left;
}

ExprPtr ExpressionParser::power() {
  ExprPtr left = unary();
  while (tokens_.skip_op("**")) left = pair(ExprKind::binary, "**", std::move(left), unary());
  return left;
}

ExprPtr ExpressionParser::unary(bool with_filter) {
  const Nesting nesting(depth_, tokens_);
  ExprPtr value;
  if (tokens_.now().is_op("-") || tokens_.now().is_op("+")) {
    value = make(ExprKind::unary, tokens_.now().line);
    value->text = tokens_.next().text;
    add(*value, unary(false));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filter ? filters_and_tests(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::word() {
  const Token& token = tokens_.next();
  const std::string& text = token.text;
  ExprPtr expr = make(ExprKind::constant, token.line);
  if (text == "true" || text == "True" || text == "false" || text == "False") {
    expr->constant = Value(text == "true" || text == "True");
  } else if (text != "none" && text != "None") {
    expr->kind = ExprKind::name;
    expr->text = text;
  }
  return expr;
}

ExprPtr ExpressionParser::primary() {
  const Token& token = tokens_.now();
  if (token.kind == TokenKind::name) return word();
  ExprPtr expr = make(ExprKind::constant, token.line);
  if (token.kind == TokenKind::string) {
    std::string text;
    while (tokens_.now().kind == TokenKind::string) text += tokens_.next().text;
    expr->constant = constant_string(std::move(text));
  } else if (token.kind == TokenKind::integer) {
    expr->constant = Value(tokens_.next().integer);
  } else if (token.kind == TokenKind::floating) {
    expr->constant = Value(tokens_.next().floating);
  } else if (tokens_.skip_op("(")) {
    expr = tuple({.in_parentheses = true});
    tokens_.expect_op(")");
  } else if (token.is_op("[")) {
    expr = list();
  } else if (token.is_op("{")) {
    expr = dict();
  } else {
    tokens_.fail("unexpected '" + describe(token) + "'");
  }
  return expr;
}

bool ExpressionParser::tuple_ends(std::string_view end) const {
  const Token& token = tokens_.now();
  return token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end ||
         token.is_op(")") || (!end.empty() && token.is_name(end));
}

ExprPtr ExpressionParser::tuple(const TupleRules& rules) {
  ExprPtr expr = make(ExprKind::tuple, tokens_.now().line);
  bool is_tuple = false;
  while (true) {
    if (!expr->parts.empty()) tokens_.expect_op(",");
    if (tuple_ends(rules.end)) break;
    add(*expr, expression(rules.with_condition));
    if (!tokens_.now().is_op(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return expr;
  if (!expr->parts.empty()) return std::move(expr->parts[0]);
  if (!rules.in_parentheses) {
    tokens_.fail("Expected an expression, got '" + describe(tokens_.now()) + "'");
  }
  return expr;
}

ExprPtr ExpressionParser::list() {
  ExprPtr expr = make(ExprKind::list, tokens_.next().line);
  while (!tokens_.now().is_op("]")) {
    if (!expr->parts.empty()) tokens_.expect_op(",");
    if (tokens_.now().is_op("]")) break;
    add(*expr, expression());
  }
  tokens_.expect_op("]");
  return expr;
}

ExprPtr ExpressionParser::dict() {
  ExprPtr expr = make(ExprKind::dict, tokens_.next().line);
  while (!tokens_.now().is_op("}")) {
    if (!expr->parts.empty()) tokens_.expect_op(",");
    if (tokens_.now().is_op("}")) break;
    add(*expr, expression());
    tokens_.expect_op(":");
    add(*expr, expression());
  }
  tokens_.expect_op("}");
  return expr;
}

ExprPtr ExpressionParser::name_target() {
  ExprPtr expr = make(ExprKind::name, tokens_.now().line);
  expr->text = tokens_.expect_any_name();
  const bool is_constant = expr->text == "true" || expr->text == "false" || expr->text == "none" ||
                           expr->text == "True" || expr->text == "False" || expr->text == "None";
  if (is_constant) tokens_.fail("can't assign to '" + expr->text + "'");
  return expr;
}

ExprPtr ExpressionParser::one_target(bool with_space) {
  const Nesting nesting(depth_, tokens_);
  if (tokens_.skip_op("(")) {
    ExprPtr inner = target(false);
    tokens_.expect_op(")");
    return inner;
  }
  if (tokens_.now().kind != TokenKind::name) {
    tokens_.fail("can't assign to '" + describe(tokens_.now()) + "'");
  }
  ExprPtr expr = name_target();
  if (with_space && tokens_.skip_op(".")) {
    expr->kind = ExprKind::space_name;
    expr->name = expr->text;
    expr->text = tokens_.expect_any_name();
  }
  return expr;
}

ExprPtr ExpressionParser::target(bool with_space, std::string_view end) {
  ExprPtr expr = make(ExprKind::tuple, tokens_.now().line);
  bool is_tuple = false;
  while (true) {
    if (!expr->parts.empty()) tokens_.expect_op(",");
    if (tuple_ends(end)) break;
    add(*expr, one_target(with_space));
    if (!tokens_.now().is_op(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return expr;
  if (expr->parts.empty()) {
    tokens_.fail("Expected an expression, got '" + describe(tokens_.now()) + "'");
  }
  return std::move(expr->parts[0]);
}

}  // namespace forge::chat::detail
