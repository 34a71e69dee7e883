// The parser of templates: tokens to a tree. The grammar is jinja2's, by recursive descent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexer.h"
#include "syntax.h"

namespace forge::chat::detail {

/// Reads tokens one after the other. Errors: all throw SyntaxError.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip_op(std::string_view symbol);
  bool skip_name(std::string_view word);
  void expect_op(std::string_view symbol);
  void expect_name(std::string_view word);
  std::string expect_any_name();
  void expect(TokenKind kind);
  [[noreturn]] void fail(std::string message) const;

 private:
  [[noreturn]] void fail_expected(const std::string& wanted) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

/// How deeply the parser is nested at the moment.
class Nesting {
 public:
  Nesting(int& depth, const TokenStream& tokens) : depth_(depth) {
    if (++depth_ > kSyntaxDepthMax) {
      --depth_;
      tokens.fail("nests deeper than " + std::to_string(kSyntaxDepthMax));
    }
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// `else` belongs to the expression: x if y else z.
  ExprPtr expression(bool with_condition = true);

  struct TupleRules {
    bool with_condition = true;
    bool in_parentheses = false;
    std::string_view end;  ///< a name that ends the tuple, too
  };
  /// An expression, or several with commas between them, which are a tuple.
  ExprPtr tuple(const TupleRules& rules);

  /// What a value is assigned to: a name, several, or with `with_space` an attribute of a
  /// namespace.
  ExprPtr target(bool with_space, std::string_view end = "");
  ExprPtr name_target();

  /// One filter after another, each with a "|" before it; without `bar` the first has none.
  ExprPtr filters(ExprPtr value, bool bar = true);

  int& depth() { return depth_; }

 private:
  ExprPtr make(ExprKind kind, std::uint32_t line) const;
  void add(Expr& expr, ExprPtr part) const;
  ExprPtr pair(ExprKind kind, std::string text, ExprPtr left, ExprPtr right) const;
  ExprPtr logical_or();
  ExprPtr logical_and();
  ExprPtr logical_not();
  std::string comparison_symbol();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary();
  ExprPtr word();
  ExprPtr list();
  ExprPtr dict();
  ExprPtr postfix(ExprPtr value);
  ExprPtr filters_and_tests(ExprPtr value);
  ExprPtr subscript(ExprPtr value);
  ExprPtr subscripted(ExprPtr object);
  ExprPtr call(ExprPtr callee);
  ExprPtr test(ExprPtr value);
  void call_arguments(Expr& expr);
  void call_argument(Expr& expr);
  ExprPtr one_target(bool with_space);
  bool tuple_ends(std::string_view end) const;
  std::string dotted_name();

  TokenStream& tokens_;
  int depth_ = 0;
};

/// The body of the template. Throws SyntaxError.
Body parse_template(std::string_view source);

}  // namespace forge::chat::detail
