// Interpreter: one rendering of one template.
//
// It walks the tree (syntax.h). Variables are in activations, one for each call of a function;
// scopes.h has given each its place. Failures are thrown (budget.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "iteration.h"
#include "syntax.h"
#include "value.h"

namespace forge::chat::detail {

/// The variables of one call of a function.
struct Activation : Object {
  std::vector<Value> slots;
  std::shared_ptr<Activation> parent;
};

struct Loop;

class Interpreter {
 public:
  /// Borrows all of them.
  Interpreter(const FunctionDef& root, const Value& context, const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string run();
  std::uint32_t line() const { return line_; }

  Budget& budget() { return budget_; }
  const std::tm& now() const { return options_.now; }

  Value text(std::string text, bool markup = false) {
    return make_string(budget_, std::move(text), markup);
  }
  Value list(std::vector<Value> elements) { return make_list(budget_, std::move(elements)); }
  std::string str(const Value& value) { return text_of(budget_, value); }

  /// object.name and object[index] as jinja2 has them, each of which falls back to the other.
  /// Undefined where there is neither.
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& index);

  Value call(const Value& callee, Arguments& arguments);
  Value filter(const std::string& name, const Value& value, Arguments& arguments);
  bool test(const std::string& name, const Value& value, Arguments& arguments);

  /// loop(children) in a recursive loop.
  Value recurse(const Loop& loop, const Value& iterable);

  /// What can hold itself is emptied at the end of the rendering.
  void keep(std::shared_ptr<Object> object) { kept_.push_back(std::move(object)); }

 private:
  enum class Flow : std::uint8_t { normal, break_loop, continue_loop };

  class Depth;
  class Capture;
  class Enter;
  class LoopVariable;

  Value evaluate(const Expr& expr);
  Value evaluate_container(const Expr& expr);
  Value evaluate_logic(const Expr& expr);
  Value evaluate_compare(const Expr& expr);
  Value evaluate_binary(const Expr& expr);
  Value evaluate_unary(const Expr& expr);
  Value evaluate_concat(const Expr& expr);
  Value evaluate_conditional(const Expr& expr);
  Value evaluate_slice(const Expr& expr);
  Value evaluate_call(const Expr& expr, const Value* caller);
  Value evaluate_filter(const Expr& expr, const Value* filtered);
  Value evaluate_test(const Expr& expr);
  Arguments evaluate_arguments(const CallArguments& arguments);
  Value load(const Expr& name);

  Flow execute(const Body& body);
  Flow execute(const Stmt& stmt);
  Flow execute_if(const Stmt& stmt);
  Flow execute_for(const Stmt& stmt);
  Flow run_loop(const Stmt& stmt, const Value& iterable, int depth0);
  bool turns(const ForLoop& def, const std::shared_ptr<Loop>& loop);
  Value filtered_by_test(const ForLoop& def, const Value& iterable);
  Flow capture(const Stmt& stmt, Value& written);
  Flow execute_set_block(const Stmt& stmt);
  Flow execute_filter_block(const Stmt& stmt);
  Flow execute_with(const Stmt& stmt);
  void execute_set(const Stmt& stmt);
  void execute_call_block(const Stmt& stmt);
  void write(const Value& value);

  void enter(const Frame& frame);
  void assign(const Expr& target, const Value& value);
  void check_spaces(const Expr& target);
  Value& slot(Reference reference);
  Value context_value(const std::string& name) const;
  Value make_macro(const FunctionDef& def);
  Value call_macro(const Value& macro, Arguments& arguments);
  void bind(const Value& macro, Arguments& arguments);
  std::string run_function(const FunctionDef& def, std::shared_ptr<Activation> parent);

  const FunctionDef& root_;
  const Value& context_;
  const RenderOptions& options_;
  Budget budget_;
  std::shared_ptr<Activation> activation_;
  std::shared_ptr<Activation> root_activation_;
  std::string* out_ = nullptr;
  std::uint32_t line_ = 1;
  int depth_ = 0;  // of nested expressions, statements and calls
  int calls_ = 0;
  std::vector<std::shared_ptr<Object>> kept_;
};

/// a + b and so on. Errors (raised): the types do not go together.
Value binary(Interpreter& interpreter, const std::string& op, const Value& a, const Value& b);
/// a < b and so on.
bool compare(Budget& budget, const std::string& op, const Value& a, const Value& b);
/// Whether `element` is in `container`.
bool contains(Interpreter& interpreter, const Value& container, const Value& element);
/// object[start:stop:step]; null where one is not given.
struct SliceBounds {
  Value start;
  Value stop;
  Value step;
};
Value slice(Interpreter& interpreter, const Value& object, const SliceBounds& bounds);

/// A variable that the context does not have: a function of jinja2 or `transformers`; missing where
/// there is none of that name.
Value global(std::string_view name);
/// The method `name` of `object`; missing where its type has none, undefined where it would change
/// it.
Value method(Interpreter& interpreter, const Value& object, std::string_view name);

}  // namespace forge::chat::detail
