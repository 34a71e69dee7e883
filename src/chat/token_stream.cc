#include "parser.h"

namespace forge::chat::detail {

bool TokenStream::skip_op(std::string_view symbol) {
  if (!now().is_op(symbol)) return false;
  next();
  return true;
}

bool TokenStream::skip_name(std::string_view word) {
  if (!now().is_name(word)) return false;
  next();
  return true;
}

void TokenStream::fail_expected(const std::string& wanted) const {
  if (now().kind == TokenKind::end) fail("unexpected end of template, expected '" + wanted + "'.");
  fail("expected token '" + wanted + "', got '" + describe(now()) + "'");
}

void TokenStream::expect_op(std::string_view symbol) {
  if (!skip_op(symbol)) fail_expected(std::string(symbol));
}

void TokenStream::expect_name(std::string_view word) {
  if (!skip_name(word)) fail_expected(std::string(word));
}

std::string TokenStream::expect_any_name() {
  if (now().kind != TokenKind::name) fail_expected("name");
  return next().text;
}

void TokenStream::expect(TokenKind kind) {
  if (now().kind != kind) {
    Token wanted;
    wanted.kind = kind;
    fail_expected(describe(wanted));
  }
  next();
}

void TokenStream::fail(std::string message) const {
  throw SyntaxError{now().line, std::move(message)};
}

}  // namespace forge::chat::detail
