// Sets of scalars: what each keyword says of them, and the algebra of schemas.
#include <algorithm>

#include "formats.h"
#include "regex.h"
#include "schema_sets.h"
#include "utf8.h"

namespace forge::grammar {
namespace {

using Kind = SchemaValue::Kind;

/// The values of "enum" and "const", if they are there: what is accepted is equal to one of each.
template <class Visit>
void for_value_lists(const SchemaSets& sets, const SchemaValue& schema, const Visit& visit) {
  if (const SchemaValue* const values = sets.keyword(schema, "enum")) {
    visit(std::span<const SchemaValue>(values->items));
  }
  if (const SchemaValue* const value = sets.keyword(schema, "const")) visit(std::span(value, 1));
}

const DfaPtr& texts_of_format(std::string_view format) {
  // Each is made once, not for every schema: that of date-time has 20,000 states on its way.
  static const std::vector<DfaPtr> kTexts = [] {
    std::vector<DfaPtr> texts;
    texts.reserve(std::size(kFormats));
    for (const std::string_view name : kFormats) {
      Compilation unlimited({.steps_max = UINT64_MAX});
      texts.push_back(std::make_shared<const Dfa>(
          dfa_of_regex(*regex_of_format(name), RegexMatch::whole, "", unlimited)));
    }
    return texts;
  }();
  const auto* const place = std::find(std::begin(kFormats), std::end(kFormats), format);
  return kTexts[static_cast<std::size_t>(place - std::begin(kFormats))];
}

/// What a schema accepts of one kind of scalar. `Set` has intersect, unite and invert.
template <class Set>
class Evaluation {
 public:
  explicit Evaluation(SchemaSets& sets) : sets_(sets) {}

  Set of(const SchemaValue& schema) {
    if (schema.is(Kind::boolean)) return schema.boolean ? Set::all() : Set::none();
    const Enter enter(sets_, schema);
    if (!enter.ok()) return Set::none();
    Set result = sets_.own(schema, Set::all());
    const auto both = [&](const auto& make) {
      if (!result.is_none()) result = result.intersect(make(), sets_.compilation());
    };
    if (schema.find("$ref") != nullptr) {
      both([&] { return of(*sets_.target_of_ref(schema)); });
    }
    if (const SchemaValue* const all_of = sets_.keyword(schema, "allOf")) {
      for (const SchemaValue& branch : all_of->items) both([&] { return of(branch); });
    }
    if (const SchemaValue* const any_of = sets_.keyword(schema, "anyOf")) {
      both([&] { return any(*any_of); });
    }
    if (const SchemaValue* const one_of = sets_.keyword(schema, "oneOf")) {
      both([&] { return one(*one_of); });
    }
    if (const SchemaValue* const negated = sets_.keyword(schema, "not")) {
      both([&] { return of(*negated).invert(sets_.compilation()); });
    }
    if (const SchemaValue* const condition = sets_.keyword(schema, "if")) {
      both([&] { return conditional(schema, *condition); });
    }
    return result;
  }

 private:
  Set any(const SchemaValue& branches) {
    Compilation& c = sets_.compilation();
    std::vector<Set> sets;
    sets.reserve(branches.items.size());
    for (const SchemaValue& branch : branches.items) sets.push_back(of(branch));
    return joined(std::move(sets), Set::none(),
                  [&](const Set& a, const Set& b) { return a.unite(b, c); });
  }

  Set one(const SchemaValue& branches) {
    Compilation& c = sets_.compilation();
    struct Counted {
      Set some;  ///< what at least one branch accepts
      Set one;
    };
    std::vector<Counted> counted;
    counted.reserve(branches.items.size());
    for (const SchemaValue& branch : branches.items) {
      const Set set = of(branch);
      if (!set.is_none()) counted.push_back({set, set});
    }
    const auto join = [&](const Counted& a, const Counted& b) -> Counted {
      return {a.some.unite(b.some, c),
              a.one.intersect(b.some.invert(c), c).unite(b.one.intersect(a.some.invert(c), c), c)};
    };
    return joined(std::move(counted), {Set::none(), Set::none()}, join).one;
  }

  Set conditional(const SchemaValue& schema, const SchemaValue& condition) {
    Compilation& c = sets_.compilation();
    const SchemaValue* const then = sets_.keyword(schema, "then");
    const SchemaValue* const otherwise = sets_.keyword(schema, "else");
    if (then == nullptr && otherwise == nullptr) return Set::all();
    const Set holds = of(condition);
    const Set yes = then != nullptr ? holds.intersect(of(*then), c) : holds;
    const Set no =
        otherwise != nullptr ? holds.invert(c).intersect(of(*otherwise), c) : holds.invert(c);
    return yes.unite(no, c);
  }

  SchemaSets& sets_;
};

template <class Set>
Set of_term(SchemaSets& sets, const Term& term) {
  Set result = Set::all();
  for (const Literal& literal : term) {
    if (result.is_none()) break;
    const Set set = Evaluation<Set>(sets).of(*literal.schema);
    result = result.intersect(literal.negated ? set.invert(sets.compilation()) : set,
                              sets.compilation());
  }
  return sets.compilation().failed() ? Set::none() : result;
}

}  // namespace

ConstantSet SchemaSets::own(const SchemaValue& schema, const ConstantSet& all) {
  unsigned bits = all.bits();
  if (const SchemaValue* const type = keyword(schema, "type")) {
    const unsigned types = types_of(*type);
    if ((types & kTypeNull) == 0) bits &= ~unsigned{ConstantSet::kNull};
    if ((types & kTypeBoolean) == 0) bits &= unsigned{ConstantSet::kNull};
  }
  for_value_lists(*this, schema, [&](std::span<const SchemaValue> values) {
    unsigned listed = 0;
    for (const SchemaValue& value : values) {
      if (value.is(Kind::null)) listed |= ConstantSet::kNull;
      if (value.is(Kind::boolean))
        listed |= value.boolean ? ConstantSet::kTrue : ConstantSet::kFalse;
    }
    bits &= listed;
  });
  return ConstantSet::of(bits);
}

NumberSet SchemaSets::own(const SchemaValue& schema, const NumberSet& all) {
  Compilation& c = compilation_;
  NumberSet result = all;
  if (const SchemaValue* const type = keyword(schema, "type")) {
    const unsigned types = types_of(*type);
    if ((types & (kTypeInteger | kTypeNumber)) == 0) return NumberSet::none();
    if ((types & kTypeNumber) == 0) result = NumberSet::integers();
  }
  const auto bound = [&](std::string_view name, std::string_view exclusive_name, bool is_most) {
    const SchemaValue* const limit = keyword(schema, name);
    const SchemaValue* const exclusive = keyword(schema, exclusive_name);
    // Of draft 4 it is a boolean, which says how the other is meant.
    const bool is_flag = exclusive != nullptr && exclusive->is(Kind::boolean);
    const auto add = [&](const SchemaValue& value, bool without) {
      const AtPlace here(c, value);
      const auto decimal = decimal_of(value.text);
      if (!decimal) return;
      const NumberSet set = is_most ? NumberSet::at_most(*decimal, without, c)
                                    : NumberSet::at_least(*decimal, without, c);
      result = result.intersect(set, c);
    };
    if (limit != nullptr) add(*limit, is_flag && exclusive->boolean);
    if (exclusive != nullptr && !is_flag) add(*exclusive, true);
  };
  bound("maximum", "exclusiveMaximum", true);
  bound("minimum", "exclusiveMinimum", false);
  if (const SchemaValue* const factor = keyword(schema, "multipleOf")) {
    const AtPlace here(c, *factor);
    if (const auto decimal = decimal_of(factor->text)) {
      result = result.intersect(NumberSet::multiples_of(*decimal, c), c);
    }
  }
  for_value_lists(*this, schema, [&](std::span<const SchemaValue> values) {
    std::vector<NumberSet> listed;
    for (const SchemaValue& value : values) {
      if (!value.is(Kind::number)) continue;
      if (const auto decimal = decimal_of(value.text)) {
        listed.push_back(NumberSet::of(*decimal, c));
      } else {
        refuse(value, "a number of more than 1000 digits is not supported");
      }
    }
    const auto either = [&](const NumberSet& a, const NumberSet& b) { return a.unite(b, c); };
    result = result.intersect(joined(std::move(listed), NumberSet::none(), either), c);
  });
  return result;
}

StringSet SchemaSets::own(const SchemaValue& schema, const StringSet& all) {
  Compilation& c = compilation_;
  if (const SchemaValue* const type = keyword(schema, "type")) {
    if ((types_of(*type) & kTypeString) == 0) return StringSet::none();
  }
  StringSet result = all;
  for_value_lists(*this, schema, [&](std::span<const SchemaValue> values) {
    std::vector<std::u32string> words;
    for (const SchemaValue& value : values) {
      if (value.is(Kind::text)) words.push_back(characters_of(value.text).value_or(U""));
    }
    const StringSet listed = words.empty() ? StringSet::none() : StringSet::of_words(words, c);
    result = result.intersect(listed, c);
  });
  if (result.is_none()) return result;
  const std::uint64_t least = count(schema, "minLength", 0);
  const std::uint64_t most = count(schema, "maxLength", kMany);
  result = result.intersect(StringSet::of_length(least, most), c);
  if (const SchemaValue* const pattern = keyword(schema, "pattern")) {
    const DfaPtr dfa = key_pattern(pattern->text, *pattern);
    if (c.failed()) return StringSet::none();
    result = result.intersect(StringSet::of(dfa), c);
  }
  if (const SchemaValue* const format = keyword(schema, "format")) {
    result = result.intersect(StringSet::of(texts_of_format(format->text)), c);
  }
  return result;
}

ConstantSet SchemaSets::constants(const Term& term) { return of_term<ConstantSet>(*this, term); }
NumberSet SchemaSets::numbers(const Term& term) { return of_term<NumberSet>(*this, term); }
StringSet SchemaSets::strings(const Term& term) { return of_term<StringSet>(*this, term); }

}  // namespace forge::grammar
