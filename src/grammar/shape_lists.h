// Unions of shapes: the algebra that "allOf", "anyOf", "oneOf", "not" and "if" need.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schema_sets.h"

namespace forge::grammar {

/// `Derived` has `list keywords(schema, mode)`: what the keywords of one schema object say by
/// themselves, or, negated, what says that one of them does not hold.
template <class Shape, class Derived>
class ShapeEvaluation {
 public:
  using List = std::vector<Shape>;

  explicit ShapeEvaluation(SchemaSets& sets) : sets_(sets) {}

  List of(const Literal& literal, ShapeMode mode) {
    mode.negated = literal.negated;
    return of(*literal.schema, mode);
  }

  List of(const SchemaValue& schema, ShapeMode mode) {
    if (schema.is(SchemaValue::Kind::boolean)) {
      return schema.boolean != mode.negated ? List{Shape()} : List{};
    }
    const Enter enter(sets_, schema);
    if (!enter.ok()) return {};
    if (mode.negated) mode.evaluates = false;
    ShapeMode inner = mode;
    const bool has_unevaluated = sets_.keyword(schema, Derived::kUnevaluated) != nullptr;
    if (has_unevaluated) inner.all_branches = inner.evaluates = true;
    if (has_unevaluated) ++unevaluated_;

    List result = self().keywords(schema, inner);
    const auto add = [&](const auto& make) {
      if (mode.negated) {
        either(result, make());
      } else if (!result.empty()) {
        result = both(result, make());
      }
    };
    if (schema.find("$ref") != nullptr) {
      add([&] { return of(*sets_.target_of_ref(schema), inner); });
    }
    if (const SchemaValue* const branches = sets_.keyword(schema, "allOf")) {
      for (const SchemaValue& branch : branches->items) add([&] { return of(branch, inner); });
    }
    if (const SchemaValue* const branches = sets_.keyword(schema, "anyOf")) {
      add([&] { return any(*branches, inner); });
    }
    if (const SchemaValue* const branches = sets_.keyword(schema, "oneOf")) {
      add([&] { return mode.negated ? not_one(*branches, inner) : one(*branches, inner); });
    }
    if (const SchemaValue* const negated = sets_.keyword(schema, "not")) {
      add([&] { return of(*negated, {!mode.negated, false, false}); });
    }
    if (sets_.keyword(schema, "if") != nullptr) {
      add([&] { return conditional(schema, inner); });
    }
    self().add_dependencies(schema, inner, add);
    if (has_unevaluated) {
      --unevaluated_;
      const SchemaValue& rest = *sets_.keyword(schema, Derived::kUnevaluated);
      // What is not evaluated depends on which branches hold, and that is not known of a negation.
      if (mode.negated)
        sets_.refuse(rest, std::string(Derived::kUnevaluated) +
                               " within not, or in "
                               "a branch of oneOf or if, is not supported");
      for (Shape& shape : result) {
        self().apply_unevaluated(shape, rest);
        if (!mode.evaluates) self().forget_evaluated(shape);
      }
    }
    if (result.size() > kShapesMax) {
      sets_.refuse(schema,
                   "combines into more than the accepted " + std::to_string(kShapesMax) + " cases");
      return {};
    }
    return result;
  }

  List both(const List& a, const List& b) {
    List result;
    for (const Shape& x : a) {
      for (const Shape& y : b) {
        Shape merged = x;
        if (!Shape::merge(merged, y, sets_.compilation())) continue;
        add_shape(result, std::move(merged));
        if (result.size() > kShapesMax) return result;  // refused by of()
      }
    }
    return result;
  }

  void either(List& into, List other) {
    for (Shape& shape : other) add_shape(into, std::move(shape));
  }

 protected:
  static constexpr std::size_t kShapesMax = 256;
  SchemaSets& sets_;

 private:
  int unevaluated_ = 0;  ///< schemas around this one that ask what is evaluated

  Derived& self() { return static_cast<Derived&>(*this); }

  /// One without conditions makes the others superfluous, but for what they evaluate.
  void add_shape(List& list, Shape shape) {
    sets_.compilation().spend(1 + list.size());
    if (unevaluated_ > 0) {
      list.push_back(std::move(shape));
      return;
    }
    if (!list.empty() && list[0] == Shape()) return;
    if (shape == Shape()) list.clear();
    if (std::find(list.begin(), list.end(), shape) == list.end()) list.push_back(std::move(shape));
  }

  List all(const SchemaValue& branches, ShapeMode mode) {
    List result{Shape()};
    for (const SchemaValue& branch : branches.items) {
      result = both(result, of(branch, mode));
      if (result.empty()) break;
    }
    return result;
  }

  List any(const SchemaValue& branches, ShapeMode mode) {
    if (mode.negated) return all(branches, mode);
    List result;
    if (!mode.all_branches) {
      for (const SchemaValue& branch : branches.items) either(result, of(branch, mode));
      return result;
    }
    // Every set of branches that hold together: each evaluates what it has.
    constexpr std::size_t kBranchesMax = 5;
    if (branches.items.size() > kBranchesMax) {
      sets_.refuse(branches, "anyOf under " + std::string(Derived::kUnevaluated) + " has " +
                                 std::to_string(branches.items.size()) +
                                 " branches; accepted are up to 5");
      return {};
    }
    for (unsigned chosen = 1; chosen < 1U << branches.items.size(); ++chosen) {
      List together{Shape()};
      for (std::size_t i = 0; i < branches.items.size(); ++i) {
        if ((chosen >> i & 1U) != 0) together = both(together, of(branches.items[i], mode));
      }
      either(result, std::move(together));
    }
    return result;
  }

  /// For each branch: it holds, and no other does. Those that surely exclude it need no word.
  List one(const SchemaValue& branches, ShapeMode mode) {
    List result;
    const ShapeMode negated{true, false, false};
    for (const SchemaValue& branch : branches.items) {
      List alone = of(branch, mode);
      for (const SchemaValue& other : branches.items) {
        if (&other == &branch || alone.empty()) continue;
        if (exclude(alone, other)) continue;
        alone = both(alone, of(other, negated));
      }
      either(result, std::move(alone));
    }
    return result;
  }

  bool exclude(const List& shapes, const SchemaValue& other) {
    for (const Shape& shape : both(shapes, of(other, {false, false, false}))) {
      if (!sets_.is_surely_empty(shape)) return false;
    }
    return true;
  }

  /// No branch holds, or two do.
  List not_one(const SchemaValue& branches, ShapeMode mode) {
    ShapeMode holds = mode;
    holds.negated = false;
    List result = all(branches, mode);
    for (std::size_t i = 0; i < branches.items.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        either(result, both(of(branches.items[i], holds), of(branches.items[k], holds)));
      }
    }
    return result;
  }

  List conditional(const SchemaValue& schema, ShapeMode mode) {
    const SchemaValue& condition = *sets_.keyword(schema, "if");
    const SchemaValue* const then = sets_.keyword(schema, "then");
    const SchemaValue* const otherwise = sets_.keyword(schema, "else");
    if (then == nullptr && otherwise == nullptr && !mode.all_branches) {
      return mode.negated ? List{} : List{Shape()};
    }
    const auto branch = [&](const SchemaValue* what) {
      return of(what != nullptr ? *what : sets_.document().anything(), mode);
    };
    List result = both(of(condition, {false, mode.evaluates, mode.all_branches}), branch(then));
    either(result, both(of(condition, {true, false, false}), branch(otherwise)));
    return result;
  }
};

}  // namespace forge::grammar
