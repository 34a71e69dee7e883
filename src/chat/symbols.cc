#include "symbols.h"

#include <algorithm>

namespace forge::chat::detail {
namespace {

/// Calls `see` with each part of an expression, not with the expression.
template <class See>
void for_each_part(const Expr& expr, const See& see) {
  const auto see_one = [&](const ExprPtr& part) {
    if (part != nullptr) see(*part);
  };
  for (const ExprPtr& part : expr.parts) see_one(part);
  for (const ExprPtr& part : expr.arguments.positional) see_one(part);
  for (const auto& [name, part] : expr.arguments.named) see_one(part);
  see_one(expr.arguments.list);
  see_one(expr.arguments.dict);
}

/// Whether a name is read, in the order of the text, before it is stored.
class Reading {
 public:
  explicit Reading(std::string_view name) : name_(name) {}

  bool found() const { return found_; }

  void look(const Body& body) {
    for (const auto& stmt : body) {
      if (!done()) look(*stmt);
    }
  }

 private:
  bool done() const { return found_ || stored_; }

  void look(const Expr& expr) {
    if (done()) return;
    const bool is_read = expr.kind == ExprKind::name && expr.text == name_;
    found_ = found_ || is_read;
    for_each_part(expr, [&](const Expr& part) { look(part); });
  }
  void look(const ExprPtr& expr) {
    if (expr != nullptr) look(*expr);
  }

  void store(const Expr& target) {
    if (done()) return;
    if (target.kind == ExprKind::name && target.text == name_) stored_ = true;
    for (const ExprPtr& part : target.parts) store(*part);
  }

  void look(const FunctionDef& function) {
    for (const Parameter& parameter : function.parameters) {
      if (!done() && parameter.name == name_) stored_ = true;
    }
    for (const Parameter& parameter : function.parameters) look(parameter.fallback);
    look(function.body);
  }

  void look(const Stmt& stmt) {
    if (stmt.kind == StmtKind::block) return;
    for (const ExprPtr& target : stmt.targets) store(*target);
    if (stmt.kind == StmtKind::if_else) {
      for (std::size_t i = 0; i < stmt.bodies.size(); ++i) {
        if (i < stmt.expressions.size()) look(stmt.expressions[i]);
        look(stmt.bodies[i]);
      }
      return;
    }
    for (const ExprPtr& expr : stmt.expressions) look(expr);
    for (const Body& body : stmt.bodies) look(body);
    if (stmt.loop != nullptr) {
      store(*stmt.loop->target);
      look(stmt.loop->iterable);
      look(stmt.loop->body);
      look(stmt.loop->otherwise);
      look(stmt.loop->test);
    }
    if (stmt.function != nullptr) look(*stmt.function);
  }

  std::string_view name_;
  bool found_ = false;
  bool stored_ = false;
};

}  // namespace

bool reads_name(const Body& body, std::string_view name) {
  Reading reading(name);
  reading.look(body);
  return reading.found();
}

int Symbols::level_of(std::string_view name) const {
  for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent) {
    if (symbols->names.contains(name)) return symbols->level;
  }
  return -1;
}

void Symbols::load(const std::string& name) {
  if (level_of(name) >= 0) return;
  names.insert(name);
  origins[name] = Origin::context;
}

void Symbols::store(const std::string& name) {
  stores.insert(name);
  if (!names.insert(name).second) return;
  const bool is_outside = parent != nullptr && parent->level_of(name) >= 0;
  origins[name] = is_outside ? Origin::outer : Origin::nothing;
}

void Symbols::declare_parameter(const std::string& name) {
  stores.insert(name);
  names.insert(name);
  origins[name] = Origin::parameter;
}

void Symbols::look_at(const Expr& expr) {
  if (expr.kind == ExprKind::name) load(expr.text);
  for_each_part(expr, [&](const Expr& part) { look_at(part); });
}

void Symbols::look_at_target(const Expr& target, bool as_parameter) {
  if (target.kind == ExprKind::space_name) {
    load(target.name);
  } else if (target.kind == ExprKind::name) {
    if (as_parameter) {
      declare_parameter(target.text);
    } else {
      store(target.text);
    }
  }
  for (const ExprPtr& part : target.parts) look_at_target(*part, as_parameter);
}

void Symbols::look_at(const Body& body) {
  for (const auto& stmt : body) look_at(*stmt);
}

void Symbols::look_at(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::if_else:
      look_at_branches(stmt);
      break;
    case StmtKind::for_loop:
      look_at(*stmt.loop->iterable);
      break;
    case StmtKind::macro:
      store(stmt.text);
      break;
    case StmtKind::set_block:
      look_at_target(*stmt.targets[0], false);
      break;
    case StmtKind::set:
      look_at(*stmt.expressions[0]);
      look_at_target(*stmt.targets[0], false);
      break;
    case StmtKind::output:
    case StmtKind::call_block:
    case StmtKind::filter_block:
    case StmtKind::with_block:
      for (const ExprPtr& expr : stmt.expressions) look_at(*expr);
      break;
    default:
      break;
  }
}

void Symbols::look_at_branches(const Stmt& stmt) {
  look_at(*stmt.expressions[0]);
  const std::size_t tests = stmt.expressions.size();
  std::vector<Symbols> branches(3, *this);
  branches[0].look_at(stmt.bodies[0]);
  for (std::size_t i = 1; i < tests; ++i) {
    // An elif is an if of its own within the second branch.
    Symbols& elif = branches[1];
    elif.look_at(*stmt.expressions[i]);
    std::vector<Symbols> inner(1, elif);
    inner[0].look_at(stmt.bodies[i]);
    elif.take_over(inner);
  }
  if (stmt.bodies.size() > tests) branches[2].look_at(stmt.bodies.back());
  take_over(branches);
}

void Symbols::take_over(const std::vector<Symbols>& branches) {
  std::set<std::string, std::less<>> stored;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores) {
      if (!stores.contains(name)) stored.insert(name);
    }
  }
  for (const Symbols& branch : branches) {
    names.insert(branch.names.begin(), branch.names.end());
    for (const auto& [name, origin] : branch.origins) origins[name] = origin;
    stores.insert(branch.stores.begin(), branch.stores.end());
  }
  for (const std::string& name : stored) {
    const bool is_outside = parent != nullptr && parent->level_of(name) >= 0;
    origins[name] = is_outside ? Origin::outer : Origin::context;
  }
}

}  // namespace forge::chat::detail
