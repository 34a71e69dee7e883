#include "scopes.h"

#include <algorithm>

#include "filters.h"
#include "forge/core/check.h"
#include "lexer.h"
#include "symbols.h"
#include "value_tests.h"

namespace forge::chat::detail {
namespace {

/// The places of the variables of one function, by level and name.
struct Places {
  std::map<std::pair<int, std::string>, std::uint32_t> slots;

  std::uint32_t of(int level, const std::string& name) {
    const auto next = static_cast<std::uint32_t>(slots.size());
    return slots.try_emplace({level, name}, next).first->second;
  }
};

class Resolver {
 public:
  void root(FunctionDef& function) {
    Places places;
    Symbols symbols;
    symbols.look_at(function.body);
    const Scope scope(*this, symbols, &places);
    function.frame = frame_of(symbols);
    resolve(function.body);
    function.slots = static_cast<std::uint32_t>(places.slots.size());
    for (const std::string& name : symbols.stores) function.exports[name] = places.of(0, name);
  }

 private:
  /// Frames that are open, the innermost last; a frame without a function of its own belongs to
  /// that of the frame around it.
  struct OpenFrame {
    const Symbols* symbols;
    Places* places;
  };
  class Scope {
   public:
    Scope(Resolver& resolver, const Symbols& symbols, Places* places) : resolver_(resolver) {
      auto& open = resolver_.open_;
      open.push_back({&symbols, places == nullptr ? open.back().places : places});
    }
    ~Scope() { resolver_.open_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Resolver& resolver_;
  };

  const Symbols& symbols() const { return *open_.back().symbols; }

  Symbols inner() const {
    Symbols symbols;
    symbols.parent = &this->symbols();
    symbols.level = this->symbols().level + 1;
    return symbols;
  }

  Reference reference(const std::string& name) {
    const int level = symbols().level_of(name);
    FORGE_CHECK(level >= 0, "no frame has the name ", name);
    std::uint32_t hops = 0;
    std::size_t at = open_.size() - 1;
    while (open_[at].symbols->level > level) {
      if (open_[at].places != open_[at - 1].places) ++hops;
      --at;
    }
    return {hops, open_[at].places->of(level, name)};
  }

  /// Requires: the frame of `symbols` is the innermost that is open.
  Frame frame_of(const Symbols& symbols) {
    Frame frame;
    for (const auto& [name, origin] : symbols.origins) {
      if (origin == Symbols::Origin::parameter) continue;
      Load load;
      load.slot = open_.back().places->of(symbols.level, name);
      load.name = name;
      if (origin == Symbols::Origin::context) load.from = Load::From::context;
      if (origin == Symbols::Origin::outer) {
        load.from = Load::From::outer;
        load.reference = outer_reference(name);
      }
      frame.loads.push_back(std::move(load));
    }
    return frame;
  }

  /// Where the frame around the innermost finds `name`, as seen from within.
  Reference outer_reference(const std::string& name) {
    const OpenFrame innermost = open_.back();
    open_.pop_back();
    Reference found = reference(name);
    if (open_.back().places != innermost.places) ++found.hops;
    open_.push_back(innermost);
    return found;
  }

  void resolve(const ExprPtr& expr) {
    if (expr != nullptr) resolve(*expr);
  }

  void resolve(Expr& expr) {
    if (expr.kind == ExprKind::name) expr.reference = reference(expr.text);
    if (expr.kind == ExprKind::space_name) expr.reference = reference(expr.name);
    const bool was_soft = soft_;
    soft_ = soft_ || expr.kind == ExprKind::conditional;
    if (expr.kind == ExprKind::filter && !is_filter(expr.text) && !soft_) {
      throw SyntaxError{expr.line, unknown_filter(expr.text)};
    }
    if (expr.kind == ExprKind::test && !is_test(expr.text) && !soft_) {
      throw SyntaxError{expr.line, "No test named '" + expr.text + "'."};
    }
    for (const ExprPtr& part : expr.parts) resolve(part);
    for (const ExprPtr& part : expr.arguments.positional) resolve(part);
    for (const auto& [name, part] : expr.arguments.named) resolve(part);
    resolve(expr.arguments.list);
    resolve(expr.arguments.dict);
    soft_ = was_soft;
  }

  void resolve(Body& body) {
    for (const auto& stmt : body) resolve(*stmt);
  }

  /// A body in a frame of its own, within the function at hand.
  void resolve_inner(Body& body, const Symbols& symbols, Frame& frame) {
    const Scope scope(*this, symbols, nullptr);
    const bool was_soft = std::exchange(soft_, false);
    frame = frame_of(symbols);
    resolve(body);
    soft_ = was_soft;
  }

  void resolve(Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::if_else:
        resolve_if(stmt);
        break;
      case StmtKind::for_loop:
        resolve_for(stmt);
        break;
      case StmtKind::macro:
        stmt.reference = reference(stmt.text);
        resolve_function(*stmt.function);
        break;
      case StmtKind::call_block:
        resolve_function(*stmt.function);
        resolve(stmt.expressions[0]);
        break;
      case StmtKind::generation:
        resolve_function(*stmt.function);
        break;
      case StmtKind::block:
        resolve_block(*stmt.function);
        break;
      case StmtKind::set_block:
        resolve(stmt.targets[0]);
        resolve_captured(stmt);
        break;
      case StmtKind::filter_block:
        resolve_captured(stmt);
        break;
      case StmtKind::with_block:
        resolve_with(stmt);
        break;
      default:
        for (const ExprPtr& expr : stmt.expressions) resolve(expr);
        for (const ExprPtr& target : stmt.targets) resolve(target);
    }
  }

  void resolve_if(Stmt& stmt) {
    const bool was_soft = std::exchange(soft_, true);
    for (const ExprPtr& test : stmt.expressions) resolve(test);
    for (Body& body : stmt.bodies) resolve(body);
    soft_ = was_soft;
  }

  /// A body whose text is kept, and the filters that it goes through, if any.
  void resolve_captured(Stmt& stmt) {
    Symbols symbols = inner();
    symbols.look_at(stmt.bodies[0]);
    if (stmt.expressions[0] != nullptr) symbols.look_at(*stmt.expressions[0]);
    const Scope scope(*this, symbols, nullptr);
    const bool was_soft = std::exchange(soft_, false);
    stmt.frame = frame_of(symbols);
    resolve(stmt.bodies[0]);
    resolve(stmt.expressions[0]);
    soft_ = was_soft;
  }

  void resolve_with(Stmt& stmt) {
    for (const ExprPtr& expr : stmt.expressions) resolve(expr);
    Symbols symbols = inner();
    for (const ExprPtr& target : stmt.targets) symbols.look_at_target(*target, true);
    symbols.look_at(stmt.bodies[0]);
    resolve_inner(stmt.bodies[0], symbols, stmt.frame);
    const Scope scope(*this, symbols, nullptr);
    for (const ExprPtr& target : stmt.targets) resolve(target);
  }

  /// A macro, or the body of {% call %} or {% generation %}.
  void resolve_function(FunctionDef& function) {
    Symbols symbols = inner();
    const auto look = [&] {
      for (const Parameter& parameter : function.parameters) {
        symbols.declare_parameter(parameter.name);
      }
      for (const Parameter& parameter : function.parameters) {
        if (parameter.fallback != nullptr) symbols.look_at(*parameter.fallback);
      }
      symbols.look_at(function.body);
    };
    look();
    Places places;
    const auto special = [&](std::string name, std::optional<std::uint32_t>& place) {
      const auto& all = function.parameters;
      const bool is_parameter = std::any_of(all.begin(), all.end(),
                                            [&](const Parameter& one) { return one.name == name; });
      if (is_parameter || !reads_name(function.body, name)) return;
      symbols.declare_parameter(name);
      place = places.of(symbols.level, name);
    };
    special("caller", function.caller);
    special("kwargs", function.kwargs);
    special("varargs", function.varargs);
    look();

    const Scope scope(*this, symbols, &places);
    const bool was_soft = std::exchange(soft_, false);
    function.frame = frame_of(symbols);
    for (Parameter& parameter : function.parameters) {
      parameter.slot = places.of(symbols.level, parameter.name);
      resolve(parameter.fallback);
    }
    resolve(function.body);
    soft_ = was_soft;
    function.slots = static_cast<std::uint32_t>(places.slots.size());
  }

  /// A block sees the context, not the variables around it.
  void resolve_block(FunctionDef& function) {
    Resolver resolver;
    resolver.root(function);
  }

  void resolve_for(Stmt& stmt) {
    ForLoop& loop = *stmt.loop;
    resolve(loop.iterable);
    refuse_loop_as_target(*loop.target);
    if (stores_loop(loop.body) || stores_loop(loop.otherwise)) {
      throw SyntaxError{stmt.line, "Can't assign to special loop variable in for-loop target"};
    }
    Places own_places;
    Places* const places = loop.is_recursive ? &own_places : nullptr;

    Symbols symbols = inner();
    const bool has_loop = loop.is_recursive || reads_name(loop.body, "loop");
    if (has_loop) symbols.declare_parameter("loop");
    symbols.look_at_target(*loop.target, true);
    symbols.look_at(loop.body);
    resolve_loop_test(loop, places);
    {
      const Scope scope(*this, symbols, places);
      const bool was_soft = std::exchange(soft_, false);
      if (has_loop) loop.loop = open_.back().places->of(symbols.level, "loop");
      loop.frame = frame_of(symbols);
      resolve(loop.target);
      resolve(loop.body);
      soft_ = was_soft;
    }
    Symbols otherwise = inner();
    otherwise.look_at(loop.otherwise);
    {
      const Scope scope(*this, otherwise, places);
      const bool was_soft = std::exchange(soft_, false);
      loop.else_frame = frame_of(otherwise);
      resolve(loop.otherwise);
      soft_ = was_soft;
    }
    loop.slots = static_cast<std::uint32_t>(own_places.slots.size());
  }

  void resolve_loop_test(ForLoop& loop, Places* loop_places) {
    if (loop.test == nullptr) return;
    Symbols symbols = inner();
    symbols.look_at_target(*loop.test_target, true);
    symbols.look_at(*loop.test);
    Places places;
    // In a recursive loop the test is a function within the loop's function.
    Symbols between = inner();
    if (loop_places != nullptr) {
      open_.push_back({&between, loop_places});
    }
    {
      const Scope scope(*this, symbols, &places);
      loop.test_frame = frame_of(symbols);
      resolve(loop.test_target);
      resolve(loop.test);
    }
    if (loop_places != nullptr) open_.pop_back();
    loop.test_slots = static_cast<std::uint32_t>(places.slots.size());
  }

  static void refuse_loop_as_target(const Expr& target) {
    if (target.kind == ExprKind::name && target.text == "loop") {
      throw SyntaxError{target.line, "Can't assign to special loop variable in for-loop target"};
    }
    for (const ExprPtr& part : target.parts) refuse_loop_as_target(*part);
  }

  static bool stores_loop(const Body& body) {
    for (const auto& stmt : body) {
      if (stores_loop(*stmt)) return true;
    }
    return false;
  }
  static bool stores_loop(const Expr& target) {
    if (target.kind == ExprKind::name && target.text == "loop") return true;
    for (const ExprPtr& part : target.parts) {
      if (stores_loop(*part)) return true;
    }
    return false;
  }
  static bool stores_loop(const Stmt& stmt) {
    const bool assigns = stmt.kind == StmtKind::set || stmt.kind == StmtKind::set_block;
    for (const ExprPtr& target : stmt.targets) {
      if (assigns && stores_loop(*target)) return true;
    }
    for (const Body& body : stmt.bodies) {
      if (stores_loop(body)) return true;
    }
    if (stmt.function != nullptr && stores_loop(stmt.function->body)) return true;
    return stmt.loop != nullptr &&
           (stores_loop(stmt.loop->body) || stores_loop(stmt.loop->otherwise));
  }

  std::vector<OpenFrame> open_;
  bool soft_ = false;  // within {% if %}: what is not there fails only where it is used
};

}  // namespace

void resolve_scopes(FunctionDef& root) {
  Resolver resolver;
  resolver.root(root);
}

}  // namespace forge::chat::detail
