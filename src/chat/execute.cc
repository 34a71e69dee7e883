// Statements.
#include "interpreter.h"
#include "interpreter_guards.h"
#include "loop.h"

namespace forge::chat::detail {

void Interpreter::write(const Value& value) {
  if (value.is_string()) {
    budget_.make(value.text().size());
    *out_ += value.text();
  } else {
    *out_ += str(value);
  }
  budget_.check_output(out_->size());
}

Interpreter::Flow Interpreter::execute(const Body& body) {
  for (const auto& stmt : body) {
    if (const Flow flow = execute(*stmt); flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute(const Stmt& stmt) {
  const Depth depth(*this);
  line_ = stmt.line;
  switch (stmt.kind) {
    case StmtKind::output:
      for (const ExprPtr& expr : stmt.expressions) {
        if (expr->kind == ExprKind::constant) {
          write(expr->constant);
        } else {
          write(evaluate(*expr));
        }
      }
      return Flow::normal;
    case StmtKind::if_else:
      return execute_if(stmt);
    case StmtKind::for_loop:
      return execute_for(stmt);
    case StmtKind::set:
      execute_set(stmt);
      return Flow::normal;
    case StmtKind::set_block:
      return execute_set_block(stmt);
    case StmtKind::macro:
      slot(stmt.reference) = make_macro(*stmt.function);
      return Flow::normal;
    case StmtKind::call_block:
      execute_call_block(stmt);
      return Flow::normal;
    case StmtKind::generation:
      write(text(run_function(*stmt.function, activation_)));
      return Flow::normal;
    case StmtKind::block:
      write(text(run_function(*stmt.function, nullptr)));
      return Flow::normal;
    case StmtKind::filter_block:
      return execute_filter_block(stmt);
    case StmtKind::with_block:
      return execute_with(stmt);
    case StmtKind::break_loop:
      return Flow::break_loop;
    case StmtKind::continue_loop:
      return Flow::continue_loop;
    case StmtKind::refused:
      raise(Exception::other, stmt.text);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_if(const Stmt& stmt) {
  for (std::size_t i = 0; i < stmt.bodies.size(); ++i) {
    const bool is_else = i == stmt.expressions.size();
    if (is_else || truth(evaluate(*stmt.expressions[i]))) return execute(stmt.bodies[i]);
  }
  return Flow::normal;
}

void Interpreter::execute_set(const Stmt& stmt) {
  const Expr& target = *stmt.targets[0];
  check_spaces(target);
  const Value value = evaluate(*stmt.expressions[0]);
  line_ = stmt.line;
  assign(target, value);
}

/// Runs the body in its frame; what it writes, through the filters if there are any, is `written`.
Interpreter::Flow Interpreter::capture(const Stmt& stmt, Value& written) {
  enter(stmt.frame);
  {
    const Capture capture(*this);
    if (const Flow flow = execute(stmt.bodies[0]); flow != Flow::normal) return flow;
    written = text(capture.take());
  }
  if (stmt.expressions[0] != nullptr) written = evaluate_filter(*stmt.expressions[0], &written);
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_set_block(const Stmt& stmt) {
  Value value;
  if (const Flow flow = capture(stmt, value); flow != Flow::normal) return flow;
  line_ = stmt.line;
  check_spaces(*stmt.targets[0]);
  assign(*stmt.targets[0], value);
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_filter_block(const Stmt& stmt) {
  Value value;
  if (const Flow flow = capture(stmt, value); flow != Flow::normal) return flow;
  write(value);
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_with(const Stmt& stmt) {
  enter(stmt.frame);
  for (std::size_t i = 0; i < stmt.targets.size(); ++i) {
    assign(*stmt.targets[i], evaluate(*stmt.expressions[i]));
  }
  return execute(stmt.bodies[0]);
}

void Interpreter::execute_call_block(const Stmt& stmt) {
  const Value caller = make_macro(*stmt.function);
  write(evaluate_call(*stmt.expressions[0], &caller));
}

Interpreter::Flow Interpreter::execute_for(const Stmt& stmt) {
  const ForLoop& def = *stmt.loop;
  const Value iterable = evaluate(*def.iterable);
  line_ = stmt.line;
  if (!def.is_recursive) return run_loop(stmt, iterable, 0);
  Value written;
  {
    const Enter entered(*this, def.slots, activation_);
    const Capture capture(*this);
    run_loop(stmt, iterable, 0);
    written = text(capture.take());
  }
  write(written);
  return Flow::normal;
}

/// The elements of which the loop's `if` holds, tested as the loop comes to them.
Value Interpreter::filtered_by_test(const ForLoop& def, const Value& iterable) {
  auto source = std::make_shared<Iteration>(budget_, iterable);
  const std::shared_ptr<Activation> around = activation_;
  return make_generator(budget_, "generator", depth_of(iterable),
                        [this, &def, source, around]() -> std::optional<Value> {
                          const Enter entered(*this, def.test_slots, around);
                          enter(def.test_frame);
                          while (auto element = source->next()) {
                            assign(*def.test_target, *element);
                            if (truth(evaluate(*def.test))) return element;
                          }
                          return std::nullopt;
                        });
}

Interpreter::Flow Interpreter::run_loop(const Stmt& stmt, const Value& iterable, int depth0) {
  const ForLoop& def = *stmt.loop;
  const auto loop = std::make_shared<Loop>(
      budget_, def.test == nullptr ? iterable : filtered_by_test(def, iterable));
  loop->depth0 = depth0;
  if (def.is_recursive) {
    loop->recursive = &stmt;
    loop->around = activation_->parent;
  }
  if (turns(def, loop) || def.otherwise.empty()) return Flow::normal;
  enter(def.else_frame);
  return execute(def.otherwise);
}

/// The variable `loop` goes away with the loop; one that is kept elsewhere is emptied at the end.
class Interpreter::LoopVariable {
 public:
  LoopVariable(Interpreter& interpreter, const ForLoop& def, const std::shared_ptr<Loop>& loop)
      : interpreter_(interpreter), def_(def), value_(Kind::loop, loop) {}
  ~LoopVariable() {
    if (def_.loop) interpreter_.activation_->slots[*def_.loop] = Value::missing();
    constexpr int kHere = 2;  // this value and the caller's pointer
    if (value_.object().use_count() > kHere) interpreter_.keep(value_.object());
  }
  LoopVariable(const LoopVariable&) = delete;
  LoopVariable& operator=(const LoopVariable&) = delete;

  void set() const {
    if (def_.loop) interpreter_.activation_->slots[*def_.loop] = value_;
  }

 private:
  Interpreter& interpreter_;
  const ForLoop& def_;
  const Value value_;
};

/// The turns of a loop. Returns whether one has come to the end of the body: {% else %} is for
/// loops of which none has, even one that {% continue %} cuts short each time, as in jinja2.
bool Interpreter::turns(const ForLoop& def, const std::shared_ptr<Loop>& loop) {
  const LoopVariable variable(*this, def, loop);
  bool ended = false;
  while (const auto element = loop->advance()) {
    assign(*def.target, *element);
    variable.set();
    enter(def.frame);
    const Flow flow = execute(def.body);
    if (flow == Flow::break_loop) break;
    if (flow == Flow::normal) ended = true;
  }
  return ended;
}

}  // namespace forge::chat::detail
