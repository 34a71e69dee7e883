#include "value.h"

#include <algorithm>

#include "unicode.h"

namespace forge::chat::detail {

const String& Value::string() const { return as<const String>(); }
std::string_view Value::text() const { return string().text; }
const Sequence& Value::sequence() const { return as<const Sequence>(); }
const Dict& Value::dict() const { return as<const Dict>(); }
const Undefined& Value::undefined() const { return as<const Undefined>(); }
const Range& Value::range() const { return as<const Range>(); }
Generator& Value::generator() const { return as<Generator>(); }
Space& Value::space() const { return as<Space>(); }
const Function& Value::function() const { return as<const Function>(); }

String::String(std::string bytes, bool is_markup)
    : text(std::move(bytes)), characters(count_characters(text)), markup(is_markup) {}

Value* Space::find(std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const auto& member) { return member.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

std::size_t Dict::find(Budget& budget, const Value& key) const {
  if (key.is_string()) {
    const auto found = places_.find(key.text());
    return found == places_.end() ? members.size() : found->second;
  }
  check_hashable(key);
  if (places_.size() == members.size()) return members.size();
  budget.step(members.size());
  std::size_t at = 0;
  while (at < members.size() && !equal(budget, members[at].first, key)) ++at;
  return at;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &members[found->second].second;
}

void Dict::set(Budget& budget, const Value& key, Value value) {
  depth = std::max({depth, one_deeper(depth_of(key)), one_deeper(depth_of(value))});
  const std::size_t at = find(budget, key);
  if (at < members.size()) {
    members[at].second = std::move(value);
    return;
  }
  budget.make(2 * sizeof(Value) + (key.is_string() ? sizeof(void*) * 8 : 0));
  members.emplace_back(key, std::move(value));
  if (key.is_string()) places_.emplace(members.back().first.text(), at);
}

int depth_of(const Value& value) {
  if (value.is_sequence()) return value.sequence().depth;
  switch (value.kind()) {
    case Kind::dict:
      return value.dict().depth;
    case Kind::generator:
      return value.generator().depth;
    case Kind::function:
      return value.function().depth;
    default:
      return 1;
  }
}

int one_deeper(int depth) {
  if (depth < kValueDepthMax) return depth + 1;
  raise(Exception::limit,
        "the template nests values deeper than " + std::to_string(kValueDepthMax));
}

Value make_string(Budget& budget, std::string text, bool markup) {
  budget.make(text.size() + sizeof(String));
  return {Kind::string, std::make_shared<String>(std::move(text), markup)};
}

Value constant_string(std::string text) {
  return {Kind::string, std::make_shared<String>(std::move(text), false)};
}

Value make_sequence(Budget& budget, Kind kind, std::vector<Value> elements) {
  budget.make(elements.size() * sizeof(Value) + sizeof(Sequence));
  auto sequence = std::make_shared<Sequence>();
  sequence->elements = std::move(elements);
  for (const Value& element : sequence->elements) {
    sequence->depth = std::max(sequence->depth, one_deeper(depth_of(element)));
  }
  return {kind, std::move(sequence)};
}

Value make_list(Budget& budget, std::vector<Value> elements) {
  return make_sequence(budget, Kind::list, std::move(elements));
}

Value make_tuple(Budget& budget, std::vector<Value> elements) {
  return make_sequence(budget, Kind::tuple, std::move(elements));
}

Value make_dict(Budget& budget, std::shared_ptr<Dict> dict) {
  budget.make(sizeof(Dict));
  return {Kind::dict, std::move(dict)};
}

Value make_undefined(std::string message, bool unsafe) {
  auto undefined = std::make_shared<Undefined>();
  undefined->message = std::move(message);
  undefined->unsafe = unsafe;
  return {Kind::undefined, std::move(undefined)};
}

Value make_generator(Budget& budget, std::string name, int depth,
                     std::function<std::optional<Value>()> next) {
  budget.make(sizeof(Generator));
  auto generator = std::make_shared<Generator>();
  generator->name = std::move(name);
  generator->depth = one_deeper(depth);
  generator->next = std::move(next);
  return {Kind::generator, std::move(generator)};
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::floating:
      return "float";
    case Kind::string:
      return value.string().markup ? "Markup" : "str";
    case Kind::list:
      return "list";
    case Kind::tuple:
      return value.sequence().is_group ? "_GroupTuple" : "tuple";
    case Kind::dict:
      return "dict";
    case Kind::keys:
      return "dict_keys";
    case Kind::values:
      return "dict_values";
    case Kind::items:
      return "dict_items";
    case Kind::range:
      return "range";
    case Kind::generator:
      return value.generator().name;
    case Kind::space:
      return "Namespace";
    case Kind::loop:
      return "LoopContext";
    case Kind::macro:
      return "Macro";
    case Kind::function:
      return "builtin_function_or_method";
  }
  return "object";
}

bool truth(const Value& value) {
  if (value.is_sequence()) return !value.sequence().elements.empty();
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value.integer() != 0;
    case Kind::floating:
      return value.floating() != 0;
    case Kind::string:
      return !value.text().empty();
    case Kind::dict:
      return !value.dict().members.empty();
    case Kind::range:
      return value.range().count > 0;
    default:
      return true;
  }
}

}  // namespace forge::chat::detail
