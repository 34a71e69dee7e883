#include "interpreter.h"

#include "filters.h"
#include "interpreter_guards.h"
#include "loop.h"
#include "macro.h"
#include "value_tests.h"

namespace forge::chat::detail {

Interpreter::Interpreter(const FunctionDef& root, const Value& context,
                         const RenderOptions& options)
    : root_(root), context_(context), options_(options), budget_(options.limits) {}

Interpreter::~Interpreter() {
  for (const auto& object : kept_) {
    if (auto* const space = dynamic_cast<Space*>(object.get())) {
      space->members.clear();
    } else if (auto* const activation = dynamic_cast<Activation*>(object.get())) {
      activation->slots.clear();
    } else if (auto* const loop = dynamic_cast<Loop*>(object.get())) {
      loop->last_changed = loop->current = loop->before = Value();
    }
  }
}

std::string Interpreter::run() {
  std::string out;
  out_ = &out;
  activation_ = root_activation_ = std::make_shared<Activation>();
  keep(activation_);
  activation_->slots.assign(root_.slots, Value::missing());
  enter(root_.frame);
  execute(root_.body);
  return out;
}

Value& Interpreter::slot(Reference reference) {
  Activation* activation = activation_.get();
  for (std::uint32_t i = 0; i < reference.hops; ++i) activation = activation->parent.get();
  return activation->slots[reference.slot];
}

Value Interpreter::context_value(const std::string& name) const {
  // Blocks see what the template has set; elsewhere such a name has a place.
  if (activation_ != root_activation_ && !root_.exports.empty()) {
    if (const auto found = root_.exports.find(name); found != root_.exports.end()) {
      const Value& value = root_activation_->slots[found->second];
      if (!value.is(Kind::missing)) return value;
    }
  }
  if (const Value* const value = context_.dict().find(name)) return *value;
  return global(name);
}

void Interpreter::enter(const Frame& frame) {
  for (const Load& load : frame.loads) {
    Value value = Value::missing();
    if (load.from == Load::From::context) value = context_value(load.name);
    if (load.from == Load::From::outer) value = slot(load.reference);
    activation_->slots[load.slot] = std::move(value);
  }
}

Value Interpreter::load(const Expr& name) {
  const Value& value = slot(name.reference);
  if (!value.is(Kind::missing)) return value;
  return make_undefined(repr_of_text(name.text) + " is undefined");
}

void Interpreter::check_spaces(const Expr& target) {
  if (target.kind == ExprKind::space_name && !slot(target.reference).is(Kind::space)) {
    raise(Exception::other, "cannot assign attribute on non-namespace object");
  }
  for (const ExprPtr& part : target.parts) check_spaces(*part);
}

void Interpreter::assign(const Expr& target, const Value& value) {
  if (target.kind == ExprKind::name) {
    slot(target.reference) = value;
    return;
  }
  if (target.kind == ExprKind::space_name) {
    set_member(budget_, slot(target.reference).space(), target.text, value);
    return;
  }
  if (!is_iterable(value)) {
    raise_type("cannot unpack non-iterable " + type_name(value) + " object");
  }
  Iteration elements(budget_, value);
  const std::size_t wanted = target.parts.size();
  for (std::size_t i = 0; i < wanted; ++i) {
    const auto element = elements.next();
    if (!element) {
      raise(Exception::value, "not enough values to unpack (expected " + std::to_string(wanted) +
                                  ", got " + std::to_string(i) + ")");
    }
    assign(*target.parts[i], *element);
  }
  if (elements.next()) {
    raise(Exception::value, "too many values to unpack (expected " + std::to_string(wanted) + ")");
  }
}

void set_member(Budget& budget, Space& space, const std::string& name, const Value& value) {
  if (name.starts_with('_')) {
    raise(Exception::other,
          "Chat templates cannot store underscore-prefixed attributes on a namespace, but got " +
              repr_of_text(name) + ". Please rename the attribute.");
  }
  if (Value* const member = space.find(name)) {
    *member = value;
    return;
  }
  budget.step(space.members.size());
  budget.make(sizeof(Value) + name.size());
  space.members.emplace_back(name, value);
}

Value Interpreter::make_macro(const FunctionDef& def) {
  budget_.make(sizeof(Macro));
  auto macro = std::make_shared<Macro>();
  macro->def = &def;
  macro->around = activation_;
  return {Kind::macro, std::move(macro)};
}

std::string Interpreter::run_function(const FunctionDef& def, std::shared_ptr<Activation> parent) {
  const Enter entered(*this, def.slots, std::move(parent));
  const Capture capture(*this);
  enter(def.frame);
  execute(def.body);
  return capture.take();
}

Value Interpreter::call_macro(const Value& macro, Arguments& arguments) {
  const auto& callee = macro.as<Macro>();
  const FunctionDef& def = *callee.def;
  const Enter entered(*this, def.slots, callee.around);
  const Capture capture(*this);
  bind(macro, arguments);
  execute(def.body);
  return text(capture.take());
}

/// Gives the parameters of a macro their values, in the activation that has been made for it.
void Interpreter::bind(const Value& macro, Arguments& arguments) {
  const FunctionDef& def = *macro.as<Macro>().def;
  auto& slots = activation_->slots;
  const std::string name = repr_of_text(def.name);
  const std::size_t given = std::min(arguments.positional.size(), def.parameters.size());
  for (std::size_t i = 0; i < def.parameters.size(); ++i) {
    const Parameter& parameter = def.parameters[i];
    if (i < given) {
      slots[parameter.slot] = arguments.positional[i];
    } else if (auto value = arguments.take(parameter.name)) {
      slots[parameter.slot] = *std::move(value);
    }
  }
  if (def.caller) {
    auto caller = arguments.take("caller");
    slots[*def.caller] = caller && !caller->is(Kind::none) ? *std::move(caller)
                                                           : make_undefined("No caller defined");
  }
  if (def.kwargs) {
    auto rest = std::make_shared<Dict>();
    for (auto& [key, value] : arguments.named) rest->set(budget_, text(key), value);
    slots[*def.kwargs] = make_dict(budget_, std::move(rest));
  } else if (!arguments.named.empty()) {
    if (arguments.take("caller")) {
      raise_type("macro " + name +
                 " was invoked with two values for the special caller argument. "
                 "This is most likely a bug.");
    }
    raise_type("macro " + name + " takes no keyword argument " +
               repr_of_text(arguments.named[0].first));
  }
  if (def.varargs) {
    const auto& all = arguments.positional;
    slots[*def.varargs] =
        make_tuple(budget_, {all.begin() + static_cast<std::ptrdiff_t>(given), all.end()});
  } else if (arguments.positional.size() > given) {
    raise_type("macro " + name + " takes not more than " + std::to_string(def.parameters.size()) +
               " argument(s)");
  }
  enter(def.frame);
  for (const Parameter& parameter : def.parameters) {
    if (!slots[parameter.slot].is(Kind::missing)) continue;
    slots[parameter.slot] =
        parameter.fallback != nullptr
            ? evaluate(*parameter.fallback)
            : make_undefined("parameter " + repr_of_text(parameter.name) + " was not provided");
  }
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  budget_.step();
  if (callee.is(Kind::macro)) return call_macro(callee, arguments);
  if (callee.is(Kind::undefined)) raise(Exception::undefined, callee.undefined().message);
  if (callee.is(Kind::loop)) {
    const Given given(arguments, {"iterable"}, 1);
    return recurse(callee.as<Loop>(), given.required(0));
  }
  if (!callee.is(Kind::function)) raise_type("'" + type_name(callee) + "' object is not callable");
  const Function& function = callee.function();
  const Construct construct("function", function.name);
  return construct.run([&] { return function.native(*this, function.self, arguments); });
}

Value Interpreter::filter(const std::string& name, const Value& value, Arguments& arguments) {
  budget_.step();
  const Construct construct("filter", name);
  return construct.run([&] {
    const auto native = find_filter(name);
    if (native == nullptr) raise(Exception::other, unknown_filter(name));
    return native(*this, value, arguments);
  });
}

bool Interpreter::test(const std::string& name, const Value& value, Arguments& arguments) {
  budget_.step();
  const Construct construct("test", name);
  return construct.run([&] {
    const auto native = find_test(name);
    if (native == nullptr)
      raise(Exception::other, "No test named " + repr_of_text(name) + " found.");
    return native(*this, value, arguments);
  });
}

Value Interpreter::recurse(const Loop& loop, const Value& iterable) {
  if (loop.recursive == nullptr) {
    raise_type("The loop must have the 'recursive' marker to be called recursively.");
  }
  const Stmt& stmt = *loop.recursive;
  const Enter entered(*this, stmt.loop->slots, loop.around);
  const Capture capture(*this);
  run_loop(stmt, iterable, loop.depth0 + 1);
  return text(capture.take());
}

}  // namespace forge::chat::detail
