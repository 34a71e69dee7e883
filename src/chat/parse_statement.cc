// Statements, and the text and the expressions between them.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "parser.h"

namespace forge::chat::detail {
namespace {

using Words = std::initializer_list<std::string_view>;

class StatementParser {
 public:
  explicit StatementParser(TokenStream& tokens) : tokens_(tokens), expressions_(tokens) {}

  Body parse_all() { return body({}); }

 private:
  using StmtPtr = std::unique_ptr<Stmt>;

  StmtPtr make(StmtKind kind, std::uint32_t line) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = line;
    return stmt;
  }

  /// Up to one of the words that end the statement around it, which stays.
  Body body(Words ends) {
    const Nesting nesting(expressions_.depth(), tokens_);
    Body out;
    StmtPtr output;
    const auto add = [&](ExprPtr expr) {
      if (output == nullptr) output = make(StmtKind::output, expr->line);
      output->expressions.push_back(std::move(expr));
    };
    while (tokens_.now().kind != TokenKind::end) {
      const Token& token = tokens_.now();
      if (token.kind == TokenKind::data) {
        auto data = std::make_unique<Expr>();
        data->line = token.line;
        data->constant = constant_string(tokens_.next().text);
        add(std::move(data));
      } else if (token.kind == TokenKind::variable_begin) {
        tokens_.next();
        add(expressions_.tuple({}));
        tokens_.expect(TokenKind::variable_end);
      } else {
        if (output != nullptr) out.push_back(std::move(output));
        tokens_.expect(TokenKind::block_begin);
        if (is_one_of(ends)) return out;
        out.push_back(statement());
        tokens_.expect(TokenKind::block_end);
      }
    }
    if (output != nullptr) out.push_back(std::move(output));
    if (ends.size() > 0) fail_end(ends);
    return out;
  }

  bool is_one_of(Words words) const {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return tokens_.now().is_name(word); });
  }

  [[noreturn]] void fail_end(Words ends) const {
    std::string wanted;
    for (const std::string_view end : ends) {
      wanted += (wanted.empty() ? "'" : " or '") + std::string(end) + "'";
    }
    tokens_.fail("Unexpected end of template. Jinja was looking for the following tags: " + wanted +
                 ". The innermost block that needs to be closed is '" + open_.back() + "'.");
  }

  /// The body of the statement at hand, from the end of its tag on.
  Body inner_body(Words ends, bool drop_end) {
    tokens_.skip_op(":");
    tokens_.expect(TokenKind::block_end);
    Body inner = body(ends);
    if (drop_end) tokens_.next();
    return inner;
  }

  StmtPtr statement() {
    using Parse = StmtPtr (StatementParser::*)(std::uint32_t);
    struct Word {
      std::string_view word;
      Parse parse;
    };
    static constexpr std::array<Word, 19> kWords = {{
        {"if", &StatementParser::if_statement},
        {"for", &StatementParser::for_statement},
        {"set", &StatementParser::set_statement},
        {"macro", &StatementParser::macro_statement},
        {"call", &StatementParser::call_statement},
        {"filter", &StatementParser::filter_statement},
        {"with", &StatementParser::with_statement},
        {"print", &StatementParser::print_statement},
        {"generation", &StatementParser::generation_statement},
        {"break", &StatementParser::break_statement},
        {"continue", &StatementParser::continue_statement},
        {"block", &StatementParser::block_statement},
        {"autoescape", &StatementParser::autoescape_statement},
        {"extends", &StatementParser::refused_statement},
        {"include", &StatementParser::refused_statement},
        {"import", &StatementParser::refused_statement},
        {"from", &StatementParser::refused_statement},
        {"do", nullptr},
        {"debug", nullptr},
    }};
    if (tokens_.now().kind != TokenKind::name) tokens_.fail("tag name expected");
    const auto* const found = std::find_if(kWords.begin(), kWords.end(), [&](const Word& word) {
      return tokens_.now().is_name(word.word);
    });
    if (found == kWords.end() || found->parse == nullptr) {
      tokens_.fail("Encountered unknown tag '" + describe(tokens_.now()) + "'." +
                   (open_.empty() ? ""
                                  : " The innermost block that needs to be closed is '" +
                                        open_.back() + "'."));
    }
    open_.push_back(tokens_.now().text);
    const std::uint32_t line = tokens_.next().line;
    StmtPtr stmt = (this->*found->parse)(line);
    open_.pop_back();
    return stmt;
  }

  StmtPtr if_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::if_else, line);
    while (true) {
      stmt->expressions.push_back(expressions_.tuple({.with_condition = false}));
      stmt->bodies.push_back(inner_body({"elif", "else", "endif"}, false));
      if (tokens_.skip_name("elif")) continue;
      if (tokens_.skip_name("else")) {
        stmt->bodies.push_back(inner_body({"endif"}, true));
      } else {
        tokens_.next();
      }
      return stmt;
    }
  }

  StmtPtr for_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::for_loop, line);
    stmt->loop = std::make_unique<ForLoop>();
    ForLoop& loop = *stmt->loop;
    loop.target = expressions_.target(false, "in");
    tokens_.expect_name("in");
    loop.iterable = expressions_.tuple({.with_condition = false, .end = "recursive"});
    if (tokens_.skip_name("if")) {
      loop.test = expressions_.expression();
      loop.test_target = copy_of_target(*loop.target);
    }
    loop.is_recursive = tokens_.skip_name("recursive");
    const int loops = std::exchange(loops_, loop.is_recursive ? 1 : loops_ + 1);
    loop.body = inner_body({"endfor", "else"}, false);
    loops_ = loops;
    if (tokens_.next().is_name("else")) loop.otherwise = inner_body({"endfor"}, true);
    return stmt;
  }

  static ExprPtr copy_of_target(const Expr& target) {
    auto copy = std::make_unique<Expr>();
    copy->kind = target.kind;
    copy->line = target.line;
    copy->text = target.text;
    for (const ExprPtr& part : target.parts) copy->parts.push_back(copy_of_target(*part));
    return copy;
  }

  StmtPtr set_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::set, line);
    stmt->targets.push_back(expressions_.target(true));
    if (tokens_.skip_op("=")) {
      stmt->expressions.push_back(expressions_.tuple({}));
      return stmt;
    }
    stmt->kind = StmtKind::set_block;
    stmt->expressions.push_back(expressions_.filters(nullptr));
    stmt->bodies.push_back(inner_body({"endset"}, true));
    return stmt;
  }

  void signature(FunctionDef& function) {
    tokens_.expect_op("(");
    while (!tokens_.now().is_op(")")) {
      if (!function.parameters.empty()) tokens_.expect_op(",");
      Parameter parameter;
      parameter.name = expressions_.name_target()->text;
      for (const Parameter& other : function.parameters) {
        if (other.name == parameter.name) tokens_.fail("duplicate argument '" + other.name + "'");
      }
      if (tokens_.skip_op("=")) {
        parameter.fallback = expressions_.expression();
      } else if (!function.parameters.empty() && function.parameters.back().fallback != nullptr) {
        tokens_.fail("non-default argument follows default argument");
      }
      function.parameters.push_back(std::move(parameter));
    }
    tokens_.expect_op(")");
  }

  /// A body in which the loops outside are not at hand.
  Body function_body(Words ends) {
    const int loops = std::exchange(loops_, 0);
    Body inner = inner_body(ends, true);
    loops_ = loops;
    return inner;
  }

  StmtPtr macro_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::macro, line);
    stmt->function = std::make_unique<FunctionDef>();
    stmt->text = stmt->function->name = expressions_.name_target()->text;
    signature(*stmt->function);
    stmt->function->body = function_body({"endmacro"});
    return stmt;
  }

  StmtPtr call_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::call_block, line);
    stmt->function = std::make_unique<FunctionDef>();
    stmt->function->name = "caller";
    if (tokens_.now().is_op("(")) signature(*stmt->function);
    stmt->expressions.push_back(expressions_.expression());
    if (stmt->expressions[0]->kind != ExprKind::call) tokens_.fail("expected call");
    stmt->function->body = function_body({"endcall"});
    return stmt;
  }

  StmtPtr generation_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::generation, line);
    stmt->function = std::make_unique<FunctionDef>();
    stmt->function->body = function_body({"endgeneration"});
    return stmt;
  }

  StmtPtr filter_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::filter_block, line);
    stmt->expressions.push_back(expressions_.filters(nullptr, false));
    stmt->bodies.push_back(inner_body({"endfilter"}, true));
    return stmt;
  }

  StmtPtr with_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::with_block, line);
    while (tokens_.now().kind != TokenKind::block_end) {
      if (!stmt->targets.empty()) tokens_.expect_op(",");
      stmt->targets.push_back(expressions_.target(false));
      tokens_.expect_op("=");
      stmt->expressions.push_back(expressions_.expression());
    }
    stmt->bodies.push_back(inner_body({"endwith"}, true));
    return stmt;
  }

  StmtPtr print_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::output, line);
    while (tokens_.now().kind != TokenKind::block_end) {
      if (!stmt->expressions.empty()) tokens_.expect_op(",");
      stmt->expressions.push_back(expressions_.expression());
    }
    return stmt;
  }

  StmtPtr break_statement(std::uint32_t line) {
    if (loops_ == 0) tokens_.fail("'break' outside loop");
    return make(StmtKind::break_loop, line);
  }

  StmtPtr continue_statement(std::uint32_t line) {
    if (loops_ == 0) tokens_.fail("'continue' outside loop");
    return make(StmtKind::continue_loop, line);
  }

  StmtPtr block_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::block, line);
    stmt->function = std::make_unique<FunctionDef>();
    stmt->text = stmt->function->name = tokens_.expect_any_name();
    if (tokens_.now().is_name("scoped") || tokens_.now().is_name("required")) {
      tokens_.fail("a block that is scoped or required is not supported");
    }
    if (std::find(blocks_.begin(), blocks_.end(), stmt->text) != blocks_.end()) {
      tokens_.fail("block '" + stmt->text + "' defined twice");
    }
    blocks_.push_back(stmt->text);
    stmt->function->body = function_body({"endblock"});
    tokens_.skip_name(stmt->text);
    return stmt;
  }

  StmtPtr autoescape_statement(std::uint32_t /*line*/) {
    tokens_.fail("the tag 'autoescape' is not supported");
  }

  /// Jinja fails where it executes one: there are no other templates.
  StmtPtr refused_statement(std::uint32_t line) {
    StmtPtr stmt = make(StmtKind::refused, line);
    stmt->text = "the tag '" + open_.back() + "' is not supported: there are no other templates";
    while (tokens_.now().kind != TokenKind::block_end && tokens_.now().kind != TokenKind::end) {
      tokens_.next();
    }
    return stmt;
  }

  TokenStream& tokens_;
  ExpressionParser expressions_;
  std::vector<std::string> open_;    // the tags of the statements around the one at hand
  std::vector<std::string> blocks_;  // names of {% block %}
  int loops_ = 0;                    // around the statement at hand, within its function
};

}  // namespace

Body parse_template(std::string_view source) {
  TokenStream tokens(tokenize(source));
  return StatementParser(tokens).parse_all();
}

}  // namespace forge::chat::detail
