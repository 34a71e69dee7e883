// Filters that are given another filter, a test or an attribute, and go through a value only when
// somebody goes through theirs.
#include <algorithm>

#include "filters.h"

namespace forge::chat::detail {
namespace {

using Next = std::function<std::optional<Value>()>;

Value lazy(Interpreter& interpreter, const Value& source, Next next) {
  return make_generator(interpreter.budget(), "generator", depth_of(source), std::move(next));
}

/// A source that a generator goes through from its first use on.
class LazySource {
 public:
  LazySource(Interpreter& interpreter, Value value)
      : interpreter_(&interpreter), value_(std::move(value)) {}

  std::optional<Value> next() {
    if (!truth(value_)) return std::nullopt;
    if (!elements_) elements_.emplace(interpreter_->budget(), value_);
    return elements_->next();
  }

 private:
  Interpreter* interpreter_;
  Value value_;
  std::optional<Iteration> elements_;
};

/// map(attribute=...), or map(filter, arguments ...)
Value map(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  auto source = std::make_shared<LazySource>(interpreter, value);
  const auto has_attribute = std::any_of(arguments.named.begin(), arguments.named.end(),
                                         [](const auto& one) { return one.first == "attribute"; });
  if (arguments.positional.empty() && has_attribute) {
    const Value attribute = *arguments.take("attribute");
    const Value fallback = arguments.take("default").value_or(Value());
    const std::string more = arguments.named.empty() ? "" : arguments.named[0].first;
    auto path = std::make_shared<AttributePath>(interpreter, &attribute);
    return lazy(interpreter, value, [=]() -> std::optional<Value> {
      if (!more.empty()) raise(Exception::other, "Unexpected keyword argument '" + more + "'");
      const auto element = source->next();
      if (!element) return std::nullopt;
      return path->of(*element, fallback.is(Kind::none) ? nullptr : &fallback);
    });
  }
  Interpreter* const run = &interpreter;
  const Arguments all = std::move(arguments);
  return lazy(interpreter, value, [=]() -> std::optional<Value> {
    const auto element = source->next();
    if (!element) return std::nullopt;
    if (all.positional.empty()) raise(Exception::other, "map requires a filter argument");
    Arguments rest = all;
    const std::string name = run->str(rest.positional[0]);
    rest.positional.erase(rest.positional.begin());
    return run->filter(name, *element, rest);
  });
}

/// select, reject, and with kAttribute selectattr and rejectattr.
template <bool kAttribute, bool kWanted>
Value select(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  auto source = std::make_shared<LazySource>(interpreter, value);
  Interpreter* const run = &interpreter;
  const bool has_attribute = kAttribute && !arguments.positional.empty();
  auto path = std::make_shared<AttributePath>(interpreter,
                                              has_attribute ? &arguments.positional[0] : nullptr);
  if (has_attribute) arguments.positional.erase(arguments.positional.begin());
  const Arguments all = std::move(arguments);
  return lazy(interpreter, value, [=]() -> std::optional<Value> {
    while (auto element = source->next()) {
      if (kAttribute && !has_attribute) {
        raise(Exception::other, "Missing parameter for attribute name");
      }
      const Value tested = path->of(*element);
      bool holds = false;
      if (all.positional.empty()) {
        holds = truth(tested);
      } else {
        Arguments rest = all;
        const std::string name = run->str(rest.positional[0]);
        rest.positional.erase(rest.positional.begin());
        holds = run->test(name, tested, rest);
      }
      if (holds == kWanted) return element;
    }
    return std::nullopt;
  });
}

Value unique(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"case_sensitive", "attribute"});
  const bool case_sensitive = given.boolean(0, false);
  auto path = std::make_shared<AttributePath>(interpreter, given.at(1));
  auto seen = std::make_shared<Dict>();
  auto source = std::make_shared<std::optional<Iteration>>();
  Budget* const budget = &interpreter.budget();
  return lazy(interpreter, value, [=]() -> std::optional<Value> {
    if (!*source) source->emplace(*budget, value);
    while (auto element = (*source)->next()) {
      const Value key = path->key_of(*element, case_sensitive);
      check_hashable(key);
      const std::size_t before = seen->members.size();
      seen->set(*budget, key, Value());
      if (seen->members.size() > before) return element;
    }
    return std::nullopt;
  });
}

Value attr(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"name"}, 1);
  const std::string name = interpreter.str(given.required(0));
  if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
  // A member of a dict is no attribute of it.
  if (value.is(Kind::dict)) {
    Value found = method(interpreter, value, name);
    if (!found.is(Kind::missing)) return found;
    return make_undefined("'dict object' has no attribute " + repr_of_text(name));
  }
  return interpreter.attribute(value, name);
}

/// default, d
Value or_default(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"default_value", "boolean"});
  const bool is_wanted = value.is(Kind::undefined) || (given.boolean(1, false) && !truth(value));
  if (!is_wanted) return value;
  return given.at(0) == nullptr ? interpreter.text("") : given.required(0);
}

constexpr NamedFilter kSelectFilterTable[] = {
    {"attr", attr},
    {"d", or_default},
    {"default", or_default},
    {"map", map},
    {"reject", select<false, false>},
    {"rejectattr", select<true, false>},
    {"select", select<false, true>},
    {"selectattr", select<true, true>},
    {"unique", unique},
};

}  // namespace

const std::span<const NamedFilter> kSelectFilters = kSelectFilterTable;

}  // namespace forge::chat::detail
