// object.name, object[index] and object[start:stop:step].
#include <algorithm>
#include <limits>

#include "interpreter.h"
#include "loop.h"
#include "macro.h"
#include "text_ranges.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

/// "'dict object' has no attribute 'x'"
Value no_such(Interpreter& interpreter, const Value& object, const Value& name) {
  const std::string type = object.is(Kind::none) ? "None" : type_name(object) + " object";
  if (name.is_string()) {
    return make_undefined(repr_of_text(type) + " has no attribute " + repr_of_text(name.text()));
  }
  return make_undefined(type + " has no element " + repr_of(interpreter.budget(), name));
}

/// What getattr() of Python gives; missing where there is no such attribute.
Value python_attribute(Interpreter& interpreter, const Value& object, std::string_view name) {
  if (object.is(Kind::space)) {
    const Value* const member = object.space().find(name);
    return member == nullptr ? Value::missing() : *member;
  }
  if (object.is(Kind::loop)) {
    if (Value value = object.as<Loop>().attribute(name); !value.is(Kind::missing)) return value;
  }
  if (object.is(Kind::macro) && name == "name") {
    return interpreter.text(object.as<Macro>().name());
  }
  if (object.is(Kind::tuple) && object.sequence().is_group) {
    if (name == "grouper") return object.sequence().elements[0];
    if (name == "list") return object.sequence().elements[1];
  }
  return method(interpreter, object, name);
}

/// What object[index] of Python gives; missing where that is an error.
Value python_item(Interpreter& interpreter, const Value& object, const Value& index) {
  if (object.is(Kind::dict)) {
    const bool is_key = !index.is(Kind::list) && !index.is(Kind::dict);
    if (!is_key) return Value::missing();
    const std::size_t at = object.dict().find(interpreter.budget(), index);
    const auto& members = object.dict().members;
    return at < members.size() ? members[at].second : Value::missing();
  }
  const bool is_indexed = object.is(Kind::list) || object.is(Kind::tuple) || object.is_string() ||
                          object.is(Kind::range);
  if (!is_indexed || !index.is_integer()) return Value::missing();
  const std::int64_t length = *length_of(object);
  std::int64_t at = index.integer();
  if (at < 0) at += length;
  if (at < 0 || at >= length) return Value::missing();
  if (object.is(Kind::range)) return object.range().at(at);
  if (!object.is_string()) return object.sequence().elements[static_cast<std::size_t>(at)];
  return interpreter.text(
      std::string(characters(interpreter.budget(), object.string(), at, at + 1)),
      object.string().markup);
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::undefined)) raise(Exception::undefined, object.undefined().message);
  if (Value value = python_attribute(*this, object, name); !value.is(Kind::missing)) return value;
  if (object.is(Kind::dict)) {
    if (const Value* const value = object.dict().find(name)) return *value;
  }
  return no_such(*this, object, constant_string(std::string(name)));
}

Value Interpreter::item(const Value& object, const Value& index) {
  if (object.is(Kind::undefined)) raise(Exception::undefined, object.undefined().message);
  if (Value value = python_item(*this, object, index); !value.is(Kind::missing)) return value;
  if (index.is_string()) {
    Value value = python_attribute(*this, object, index.text());
    if (!value.is(Kind::missing)) return value;
  }
  return no_such(*this, object, index);
}

std::size_t byte_of(Budget& budget, const String& text, std::size_t index) {
  if (text.is_ascii()) return index;
  constexpr std::size_t kCharactersOfStep = 64;
  budget.step(index / kCharactersOfStep);
  std::size_t at = 0;
  for (; index > 0; --index) at += character_bytes(text.text[at]);
  return at;
}

std::string_view characters(Budget& budget, const String& text, std::int64_t start,
                            std::int64_t stop) {
  const auto length = static_cast<std::int64_t>(text.characters);
  start = std::clamp<std::int64_t>(start, 0, length);
  stop = std::clamp<std::int64_t>(stop, start, length);
  const std::size_t first = byte_of(budget, text, static_cast<std::size_t>(start));
  const std::size_t last = byte_of(budget, text, static_cast<std::size_t>(stop));
  return std::string_view(text.text).substr(first, last - first);
}

SliceRange slice_range(const Value& start, const Value& stop, const Value& step,
                       std::int64_t length) {
  const auto number = [](const Value& value) {
    if (value.is_integer()) return value.integer();
    raise_type("slice indices must be integers or None or have an __index__ method");
  };
  SliceRange range;
  if (!step.is(Kind::none)) range.step = number(step);
  if (range.step == 0) raise(Exception::value, "slice step cannot be zero");
  range.step = std::max(range.step, -std::numeric_limits<std::int64_t>::max());
  const bool forward = range.step > 0;
  const std::int64_t lowest = forward ? 0 : -1;
  const std::int64_t highest = forward ? length : length - 1;
  const auto bound = [&](const Value& value, std::int64_t otherwise) {
    if (value.is(Kind::none)) return otherwise;
    std::int64_t at = number(value);
    if (at < 0) at += length;
    return std::clamp(at, lowest, highest);
  };
  range.start = bound(start, forward ? lowest : highest);
  const std::int64_t end = bound(stop, forward ? highest : lowest);
  if (forward && end > range.start) range.count = (end - range.start - 1) / range.step + 1;
  if (!forward && end < range.start) range.count = (range.start - end - 1) / -range.step + 1;
  return range;
}

Value slice(Interpreter& interpreter, const Value& object, const SliceBounds& bounds) {
  if (object.is(Kind::undefined)) raise(Exception::undefined, object.undefined().message);
  const bool is_sliced = object.is(Kind::list) || object.is(Kind::tuple) || object.is_string() ||
                         object.is(Kind::range);
  if (object.is(Kind::dict)) raise_type("unhashable type: 'slice'");
  if (!is_sliced) raise_type("'" + type_name(object) + "' object is not subscriptable");
  const SliceRange range = slice_range(bounds.start, bounds.stop, bounds.step, *length_of(object));
  if (object.is(Kind::range)) {
    auto part = std::make_shared<Range>();
    part->start = object.range().start + range.start * object.range().step;
    part->step = object.range().step * range.step;
    part->count = range.count;
    part->stop = part->start + part->count * part->step;
    return {Kind::range, std::move(part)};
  }
  Budget& budget = interpreter.budget();
  if (object.is_string()) {
    const String& text = object.string();
    if (range.step == 1) {
      return interpreter.text(
          std::string(characters(budget, text, range.start, range.start + range.count)),
          text.markup);
    }
    std::vector<std::string_view> all;
    budget.make(text.characters, sizeof(std::string_view));
    all.reserve(text.characters);
    for (std::string_view rest = text.text; !rest.empty();) {
      const std::size_t bytes = character_bytes(rest[0]);
      all.push_back(rest.substr(0, bytes));
      rest.remove_prefix(bytes);
    }
    std::string out;
    for (std::int64_t i = 0; i < range.count; ++i) {
      out += all[static_cast<std::size_t>(range.start + i * range.step)];
    }
    return interpreter.text(std::move(out), text.markup);
  }
  const auto& elements = object.sequence().elements;
  std::vector<Value> out;
  budget.make(static_cast<std::uint64_t>(range.count), sizeof(Value));
  out.reserve(static_cast<std::size_t>(range.count));
  for (std::int64_t i = 0; i < range.count; ++i) {
    out.push_back(elements[static_cast<std::size_t>(range.start + i * range.step)]);
  }
  return make_sequence(budget, object.kind(), std::move(out));
}

}  // namespace forge::chat::detail
