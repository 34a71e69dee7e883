// The lexer of templates: text to tokens, with white space already taken away where the template
// asks for it.
//
// jinja2's lexer with trim_blocks (the line break after a statement goes), lstrip_blocks (so do the
// spaces before one that begins a line) and without keep_trailing_newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forge::chat::detail {

enum class TokenKind : std::uint8_t {
  data,
  block_begin,
  block_end,
  variable_begin,
  variable_end,
  name,
  string,
  integer,
  floating,
  op,  ///< an operator or a bracket, named by its text
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::uint32_t line = 1;
  std::string text;  ///< of strings: the value
  std::int64_t integer = 0;
  double floating = 0;

  bool is_op(std::string_view symbol) const { return kind == TokenKind::op && text == symbol; }
  bool is_name(std::string_view word) const { return kind == TokenKind::name && text == word; }
};

/// A text is no template.
struct SyntaxError {
  std::uint32_t line = 1;
  std::string message;
};

/// How a message names a token.
std::string describe(const Token& token);

/// The tokens of `source`, the last one `end`. Requires: `source` is UTF-8. Throws SyntaxError.
std::vector<Token> tokenize(std::string_view source);

}  // namespace forge::chat::detail
