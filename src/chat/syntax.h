// A template as a tree: what the parser makes, scopes.h completes and the interpreter walks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "value.h"

namespace forge::chat::detail {

/// How deeply expressions and statements nest in each other. Operators in a row count, too: each
/// has all before it as its left side.
inline constexpr int kSyntaxDepthMax = 400;

/// Where a variable is: a place among those of the function that is `hops` functions further out.
struct Reference {
  std::uint32_t hops = 0;
  std::uint32_t slot = 0;
};

enum class ExprKind : std::uint8_t {
  constant,
  name,
  list,
  tuple,
  dict,  ///< parts: key, value, key, value, ...
  unary,
  binary,
  logical_not,
  logical_and,
  logical_or,
  compare,      ///< parts: what is compared, one more than `operators`
  concat,       ///< parts
  conditional,  ///< parts: test, then, and else, which may be null
  attribute,    ///< parts: object; text
  item,         ///< parts: object, index
  slice,        ///< parts: object, start, stop, step, of which the last three may be null
  call,         ///< parts: callee
  filter,       ///< parts: what is filtered, null in a filter block; text
  test,         ///< parts: what is tested; text
  space_name,   ///< target of an assignment: variable `name`'s attribute `text`
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr list;  ///< *list
  ExprPtr dict;  ///< **dict
};

struct Expr {
  ExprKind kind = ExprKind::constant;
  std::uint32_t line = 1;
  int depth = 1;
  Value constant;
  std::string text;  ///< a name, or an operator
  std::vector<ExprPtr> parts;
  std::vector<std::string> operators;  ///< of a comparison
  CallArguments arguments;
  std::string name;     ///< of space_name
  Reference reference;  ///< of names
};

enum class StmtKind : std::uint8_t {
  output,
  if_else,  ///< expressions: the tests; bodies: one each, and one more for else
  for_loop,
  set,           ///< target, expressions[0]
  set_block,     ///< target, bodies[0], expressions[0]: a filter or null
  macro,         ///< function, text
  call_block,    ///< function: the caller; expressions[0]: the call
  generation,    ///< function: the body
  filter_block,  ///< expressions[0]: the filter, bodies[0]
  with_block,    ///< targets with their values in expressions; bodies[0]
  break_loop,
  continue_loop,
  block,    ///< function: the body
  refused,  ///< text: why; an error where it is executed
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

/// What a frame, which is a scope of names, does first.
struct Load {
  enum class From : std::uint8_t { nothing, context, outer };
  From from = From::nothing;
  std::uint32_t slot = 0;  ///< of the frame's function
  std::string name;        ///< of `context`
  Reference reference;     ///< of `outer`
};
struct Frame {
  std::vector<Load> loads;
};

struct Parameter {
  std::string name;
  ExprPtr fallback;  ///< may be null
  std::uint32_t slot = 0;
};

/// What has variables of its own while it runs: the template, a macro, the body of {% call %}, a
/// recursive loop, the filter of a loop.
struct FunctionDef {
  std::string name;
  std::vector<Parameter> parameters;
  std::optional<std::uint32_t> caller;  ///< places of the special variables that it uses
  std::optional<std::uint32_t> kwargs;
  std::optional<std::uint32_t> varargs;
  Frame frame;
  Body body;
  std::uint32_t slots = 0;
  std::map<std::string, std::uint32_t> exports;  ///< of the template: what its blocks see
};

struct ForLoop {
  ExprPtr target;
  ExprPtr iterable;
  ExprPtr test;  ///< may be null
  Body body;
  Body otherwise;
  bool is_recursive = false;
  Frame frame;
  Frame else_frame;
  std::optional<std::uint32_t> loop;  ///< place of the variable `loop`, if it is used
  std::uint32_t slots = 0;            ///< of a recursive loop, which is a function
  // The test is a function of its own: looking ahead must not change the variables of the body.
  std::uint32_t test_slots = 0;
  ExprPtr test_target;
  Frame test_frame;
};

struct Stmt {
  StmtKind kind = StmtKind::output;
  std::uint32_t line = 1;
  int depth = 1;
  std::string text;
  std::vector<ExprPtr> expressions;
  std::vector<ExprPtr> targets;
  std::vector<Body> bodies;
  Frame frame;
  std::unique_ptr<FunctionDef> function;
  std::unique_ptr<ForLoop> loop;
  Reference reference;  ///< of the macro's name
};

}  // namespace forge::chat::detail
