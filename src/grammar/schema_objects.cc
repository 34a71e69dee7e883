// What each keyword says of objects.
#include <algorithm>

#include "shape_lists.h"
#include "utf8.h"

namespace forge::grammar {
namespace {

using Kind = SchemaValue::Kind;
using Group = ObjectShape::Group;

std::u32string key_of(const std::string& text) { return characters_of(text).value_or(U""); }

class ObjectEvaluation : public ShapeEvaluation<ObjectShape, ObjectEvaluation> {
 public:
  using ShapeEvaluation::ShapeEvaluation;
  static constexpr std::string_view kUnevaluated = "unevaluatedProperties";

  List keywords(const SchemaValue& schema, ShapeMode mode) {
    const SchemaValue* const type = sets_.keyword(schema, "type");
    const bool is_type = type == nullptr || (types_of(*type) & kTypeObject) != 0;
    if (!is_type) return mode.negated ? List{ObjectShape()} : List{};
    List result = mode.negated ? List{} : List{ObjectShape()};
    const auto add = [&](const List& list) {
      if (mode.negated) {
        either(result, list);
      } else {
        result = both(result, list);
      }
    };
    if (const SchemaValue* const value = sets_.keyword(schema, "const")) {
      add(equal_to({value, 1}, mode));
    }
    if (const SchemaValue* const values = sets_.keyword(schema, "enum")) {
      add(equal_to(values->items, mode));
    }
    add_counts(schema, mode, add);
    add_group(schema, mode, add);
    add_names(schema, mode, add);
    return result;
  }

  /// "dependentRequired", "dependentSchemas" and "dependencies", which was both.
  template <class Add>
  void add_dependencies(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    for (const char* const name : {"dependentRequired", "dependentSchemas", "dependencies"}) {
      const SchemaValue* const map = sets_.keyword(schema, name);
      if (map == nullptr) continue;
      for (const auto& [key, wanted] : map->members) {
        add([&, &key = key, &wanted = wanted] { return dependency(key, wanted, mode); });
      }
    }
  }

  void apply_unevaluated(ObjectShape& shape, const SchemaValue& rest) {
    Group group;
    const Literal anything{&sets_.document().anything(), false};
    for (const Group& other : shape.groups) {
      if (!other.evaluates) continue;
      if (other.additional) return;
      for (const auto& [name, value] : other.names) group.names.emplace(name, anything);
      for (const auto& [pattern, value] : other.patterns) {
        group.patterns.emplace_back(pattern, anything);
      }
    }
    group.additional = Literal{&rest, false};
    group.evaluates = true;
    shape.groups.push_back(std::move(group));
  }

  void forget_evaluated(ObjectShape& shape) {
    for (Group& group : shape.groups) group.evaluates = false;
  }

 private:
  Literal nothing() { return {&sets_.document().nothing(), false}; }

  ObjectShape with_value(const std::u32string& name, const Literal& value) {
    ObjectShape shape;
    shape.groups.emplace_back().names.emplace(name, value);
    shape.required.insert(name);
    return shape;
  }
  ObjectShape with(const std::u32string& name) {
    ObjectShape shape;
    shape.required.insert(name);
    return shape;
  }
  ObjectShape without(const std::u32string& name) {
    ObjectShape shape;
    shape.groups.emplace_back().names.emplace(name, nothing());
    return shape;
  }
  static ObjectShape of_size(std::uint64_t least, std::uint64_t most) {
    ObjectShape shape;
    shape.least = least;
    shape.most = most;
    return shape;
  }
  static ObjectShape with_some(DfaPtr keys, const Literal& value) {
    ObjectShape shape;
    shape.exists.push_back({std::move(keys), value});
    return shape;
  }

  List equal_to(std::span<const SchemaValue> values, ShapeMode mode) {
    List result = mode.negated ? List{ObjectShape()} : List{};
    for (const SchemaValue& value : values) {
      if (!value.is(Kind::object)) continue;
      Group group;
      for (const auto& [key, member] : value.members) {
        group.names.emplace(key_of(key), Literal{&sets_.document().constant(member), false});
      }
      if (!mode.negated) {
        ObjectShape shape = of_size(0, kMany);
        for (const auto& [name, literal] : group.names) shape.required.insert(name);
        group.additional = nothing();
        // It says what is there, but evaluates nothing.
        shape.groups.push_back(std::move(group));
        either(result, {shape});
        continue;
      }
      List others;
      for (const auto& [name, literal] : group.names) {
        others.push_back(without(name));
        others.push_back(with_value(name, {literal.schema, true}));
      }
      others.push_back(of_size(group.names.size() + 1, kMany));
      result = both(result, others);
    }
    return result;
  }

  template <class Add>
  void add_counts(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    const std::uint64_t least = sets_.count(schema, "minProperties", 0);
    const std::uint64_t most = sets_.count(schema, "maxProperties", kMany);
    const SchemaValue* const required = sets_.keyword(schema, "required");
    if (mode.negated) {
      if (least > 0) add(List{of_size(0, least - 1)});
      if (most < kMany) add(List{of_size(most + 1, kMany)});
      if (required == nullptr) return;
      for (const SchemaValue& name : required->items) add(List{without(key_of(name.text))});
      return;
    }
    ObjectShape shape = of_size(least, most);
    if (required != nullptr) {
      for (const SchemaValue& name : required->items) shape.required.insert(key_of(name.text));
    }
    if (shape == ObjectShape()) return;
    add(least <= most ? List{shape} : List{});
  }

  template <class Add>
  void add_group(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    const SchemaValue* const properties = sets_.keyword(schema, "properties");
    const SchemaValue* const patterns = sets_.keyword(schema, "patternProperties");
    const SchemaValue* const additional = sets_.keyword(schema, "additionalProperties");
    if (properties == nullptr && patterns == nullptr && additional == nullptr) return;
    Group group;
    group.evaluates = mode.evaluates;
    if (properties != nullptr) {
      for (const auto& [key, value] : properties->members) {
        sets_.compilation().spend(1);
        group.names.emplace(key_of(key), Literal{&value, false});
      }
    }
    if (patterns != nullptr) {
      for (const auto& [pattern, value] : patterns->members) {
        group.patterns.emplace_back(sets_.key_pattern(pattern, value), Literal{&value, false});
      }
    }
    if (additional != nullptr) group.additional = Literal{additional, false};
    if (!mode.negated) {
      ObjectShape shape;
      shape.groups.push_back(std::move(group));
      add(List{shape});
      return;
    }
    for (const auto& [name, value] : group.names) add(List{with_value(name, {value.schema, true})});
    for (const auto& [pattern, value] : group.patterns) {
      if (!pattern->empty()) add(List{with_some(pattern, {value.schema, true})});
    }
    if (additional != nullptr) add(List{with_some(others(group), {additional, true})});
  }

  /// Keys that are neither among the group's names nor of its patterns.
  DfaPtr others(const Group& group) {
    Compilation& c = sets_.compilation();
    std::vector<std::u32string> names;
    names.reserve(group.names.size());
    for (const auto& [name, value] : group.names) names.push_back(name);
    Dfa keys = complement(dfa_of_words(names, 0, c), c);
    for (const auto& [pattern, value] : group.patterns) keys = difference(keys, *pattern, c);
    return std::make_shared<const Dfa>(std::move(keys));
  }

  template <class Add>
  void add_names(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    const SchemaValue* const names = sets_.keyword(schema, "propertyNames");
    if (names == nullptr) return;
    const StringSet keys = [&] {
      const OtherPlace place(sets_);
      return sets_.strings({{names, mode.negated}});
    }();
    if (mode.negated) {
      if (keys.is_none()) return;
      DfaPtr automaton = keys.automaton(sets_.compilation());
      add(List{with_some(std::move(automaton), {&sets_.document().anything(), false})});
      return;
    }
    ObjectShape shape;
    shape.keys = keys;
    if (keys.is_none()) shape.most = 0;
    add(List{shape});
  }

  List dependency(const std::string& key, const SchemaValue& wanted, ShapeMode mode) {
    const std::u32string name = key_of(key);
    const auto wants = [&]() -> List {
      if (!wanted.is(Kind::list)) return of(wanted, mode);
      if (!mode.negated) {
        ObjectShape shape;
        for (const SchemaValue& other : wanted.items) shape.required.insert(key_of(other.text));
        return {shape};
      }
      List absent;
      for (const SchemaValue& other : wanted.items) absent.push_back(without(key_of(other.text)));
      return absent;
    };
    List result = both({with(name)}, wants());
    if (!mode.negated) either(result, {without(name)});
    return result;
  }
};

}  // namespace

std::vector<ObjectShape> SchemaSets::objects(const Term& term) {
  ObjectEvaluation evaluation(*this);
  std::vector<ObjectShape> result{ObjectShape()};
  for (const Literal& literal : term) {
    result = evaluation.both(result, evaluation.of(literal, {}));
    if (result.empty()) break;
  }
  return compilation_.failed() ? std::vector<ObjectShape>() : result;
}

bool SchemaSets::is_surely_empty(const ObjectShape& shape) {
  for (const std::u32string& name : shape.required) {
    Term term;
    for (const Group& group : shape.groups) {
      const auto found = group.names.find(name);
      if (found != group.names.end()) add_to(term, found->second);
      if (found == group.names.end() && group.patterns.empty() && group.additional) {
        add_to(term, *group.additional);
      }
    }
    if (!term.empty() && is_surely_empty(term)) return true;
  }
  return false;
}

bool SchemaSets::wants_two_values(const Term& term) const {
  const SchemaValue* value = nullptr;
  for (const Literal& literal : term) {
    if (literal.negated || !literal.schema->is(Kind::object)) continue;
    const SchemaValue* only = keyword(*literal.schema, "const");
    const SchemaValue* const values = keyword(*literal.schema, "enum");
    if (only == nullptr && values != nullptr && values->items.size() == 1) only = &values->items[0];
    if (only == nullptr) continue;
    if (value != nullptr && !equal_values(*value, *only)) return true;
    value = only;
  }
  return false;
}

bool SchemaSets::is_surely_empty(const Term& term) {
  if (wants_two_values(term)) return true;
  if (look_ == 0 || compilation_.failed()) return false;
  --look_;
  const OtherPlace place(*this);
  const auto is_empty = [&](const auto& shape) { return is_surely_empty(shape); };
  const auto all_empty = [&](const auto& shapes) {
    return std::all_of(shapes.begin(), shapes.end(), is_empty);
  };
  const bool result = constants(term).is_none() && numbers(term).is_none() &&
                      strings(term).is_none() && all_empty(arrays(term)) &&
                      all_empty(objects(term)) && !compilation_.failed();
  ++look_;
  return result;
}

}  // namespace forge::grammar
