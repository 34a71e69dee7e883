// What each keyword says of arrays.
#include <algorithm>

#include "shape_lists.h"

namespace forge::grammar {
namespace {

using Contains = ArrayShape::Contains;

class ArrayEvaluation : public ShapeEvaluation<ArrayShape, ArrayEvaluation> {
 public:
  using ShapeEvaluation::ShapeEvaluation;
  static constexpr std::string_view kUnevaluated = "unevaluatedItems";

  List keywords(const SchemaValue& schema, ShapeMode mode) {
    const SchemaValue* const type = sets_.keyword(schema, "type");
    const bool is_type = type == nullptr || (types_of(*type) & kTypeArray) != 0;
    if (!is_type) return mode.negated ? List{ArrayShape()} : List{};
    List result = mode.negated ? List{} : List{ArrayShape()};
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
    add_lengths(schema, mode, add);
    add_items(schema, mode, add);
    add_contains(schema, mode, add);
    return result;
  }

  template <class Add>
  void add_dependencies(const SchemaValue&, ShapeMode, const Add&) {}

  void apply_unevaluated(ArrayShape& shape, const SchemaValue& rest) {
    if (shape.evaluated == kMany) return;
    if (!shape.contains.empty()) {
      sets_.refuse(rest, "unevaluatedItems beside contains is not supported");
    }
    if (shape.prefix.size() < shape.evaluated) shape.prefix.resize(shape.evaluated, shape.rest);
    for (std::size_t i = shape.evaluated; i < shape.prefix.size(); ++i) {
      add_to(shape.prefix[i], Literal{&rest, false});
    }
    add_to(shape.rest, Literal{&rest, false});
    shape.evaluated = kMany;
  }

  void forget_evaluated(ArrayShape& shape) { shape.evaluated = 0; }

 private:
  static ArrayShape of_length(std::uint64_t least, std::uint64_t most) {
    ArrayShape shape;
    shape.least = least;
    shape.most = most;
    return shape;
  }

  /// Arrays among `values`; negated: all others.
  List equal_to(std::span<const SchemaValue> values, ShapeMode mode) {
    List result = mode.negated ? List{ArrayShape()} : List{};
    for (const SchemaValue& value : values) {
      if (!value.is(SchemaValue::Kind::list)) continue;
      const std::size_t size = value.items.size();
      if (!mode.negated) {
        ArrayShape shape = of_length(size, size);
        for (const SchemaValue& item : value.items) {
          shape.prefix.push_back({{&sets_.document().constant(item), false}});
        }
        either(result, {shape});
        continue;
      }
      List others;
      if (size > 0) others.push_back(of_length(0, size - 1));
      others.push_back(of_length(size + 1, kMany));
      for (std::size_t i = 0; i < size; ++i) {
        others.push_back(with_item(i, {&sets_.document().constant(value.items[i]), true}));
      }
      result = both(result, others);
    }
    return result;
  }

  /// Item `index` is there, as `item` says.
  static ArrayShape with_item(std::size_t index, const Literal& item) {
    ArrayShape shape = of_length(index + 1, kMany);
    shape.prefix.resize(index + 1);
    shape.prefix[index] = {item};
    return shape;
  }

  template <class Add>
  void add_lengths(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    const std::uint64_t least = sets_.count(schema, "minItems", 0);
    const std::uint64_t most = sets_.count(schema, "maxItems", kMany);
    if (!mode.negated) {
      if (least > 0 || most < kMany) {
        add(least <= most ? List{of_length(least, most)} : List{});
      }
    } else {
      if (least > 0) add(List{of_length(0, least - 1)});
      if (most < kMany) add(List{of_length(most + 1, kMany)});
    }
    const SchemaValue* const unique = sets_.keyword(schema, "uniqueItems");
    if (unique == nullptr || !unique->boolean) return;
    if (mode.negated) sets_.refuse(*unique, "uniqueItems within not or oneOf is not supported");
    ArrayShape shape;
    shape.unique = unique;
    add(List{shape});
  }

  template <class Add>
  void add_items(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    const SchemaValue* prefix = sets_.keyword(schema, "prefixItems");
    const SchemaValue* items = sets_.keyword(schema, "items");
    if (items != nullptr && items->is(SchemaValue::Kind::list)) {  // drafts before 2020-12
      prefix = items;
      items = sets_.keyword(schema, "additionalItems");
    }
    if (prefix == nullptr && items == nullptr) return;
    const std::size_t size = prefix != nullptr ? prefix->items.size() : 0;
    if (!mode.negated) {
      ArrayShape shape;
      for (std::size_t i = 0; i < size; ++i) shape.prefix.push_back({{&prefix->items[i], false}});
      if (items != nullptr) shape.rest = {{items, false}};
      if (mode.evaluates) shape.evaluated = items != nullptr ? kMany : size;
      add(List{shape});
      return;
    }
    for (std::size_t i = 0; i < size; ++i) add(List{with_item(i, {&prefix->items[i], true})});
    if (items == nullptr) return;
    ArrayShape shape;
    shape.contains.push_back({{items, true}, 1, kMany, size});
    add(List{shape});
  }

  template <class Add>
  void add_contains(const SchemaValue& schema, ShapeMode mode, const Add& add) {
    const SchemaValue* const contains = sets_.keyword(schema, "contains");
    if (contains == nullptr) return;
    const std::uint64_t least = sets_.count(schema, "minContains", 1);
    const std::uint64_t most = sets_.count(schema, "maxContains", kMany);
    const auto shape_of = [&](std::uint64_t from, std::uint64_t to) {
      ArrayShape shape;
      // Also where it asks for nothing: it says which items are evaluated.
      if (from > 0 || to < kMany || mode.all_branches) {
        shape.contains.push_back({{contains, false}, from, to, 0});
      }
      return shape;
    };
    if (!mode.negated) {
      add(least <= most ? List{shape_of(least, most)} : List{});
      return;
    }
    if (least > 0) add(List{shape_of(0, least - 1)});
    if (most < kMany) add(List{shape_of(most + 1, kMany)});
  }
};

}  // namespace

std::vector<ArrayShape> SchemaSets::arrays(const Term& term) {
  ArrayEvaluation evaluation(*this);
  std::vector<ArrayShape> result{ArrayShape()};
  for (const Literal& literal : term) {
    result = evaluation.both(result, evaluation.of(literal, {}));
    if (result.empty()) break;
  }
  for (const ArrayShape& shape : result) {
    if (shape.unique != nullptr && shape.most > 1) {
      refuse(*shape.unique, "uniqueItems is not supported, but for at most one item");
    }
  }
  return compilation_.failed() ? std::vector<ArrayShape>() : result;
}

bool SchemaSets::is_surely_empty(const ArrayShape& shape) {
  for (std::size_t i = 0; i < shape.prefix.size() && i < shape.least; ++i) {
    if (is_surely_empty(shape.prefix[i])) return true;
  }
  return shape.least > shape.prefix.size() && is_surely_empty(shape.rest);
}

}  // namespace forge::grammar
