// SchemaSets: what a schema accepts, type by type.
//
// Of scalars that is a set, with exact union, intersection and complement; so every combination of
// schemas is as easy as one. Of arrays and objects it is a list of shapes (shapes.h), with negation
// pushed down to the keywords: an array that is not {"items": S} has an item that is not S.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "number_set.h"
#include "shapes.h"

namespace forge::grammar {

/// null, false and true, a bit each.
class ConstantSet {
 public:
  enum Bit : std::uint8_t { kNull = 1, kFalse = 2, kTrue = 4 };
  static ConstantSet none() { return ConstantSet(0); }
  static ConstantSet all() { return ConstantSet(7); }
  static ConstantSet of(unsigned bits) { return ConstantSet(bits); }

  unsigned bits() const { return bits_; }
  bool is_none() const { return bits_ == 0; }
  ConstantSet intersect(const ConstantSet& other, Compilation&) const {
    return of(bits_ & other.bits_);
  }
  ConstantSet unite(const ConstantSet& other, Compilation&) const {
    return of(bits_ | other.bits_);
  }
  ConstantSet invert(Compilation&) const { return of(~bits_ & 7U); }

 private:
  explicit ConstantSet(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};

/// How shapes are asked for.
struct ShapeMode {
  bool negated = false;
  bool evaluates = true;      ///< keys and items count as evaluated: not within "not"
  bool all_branches = false;  ///< an anyOf may hold by several branches, each of which evaluates
};

class SchemaSets {
 public:
  SchemaSets(SchemaDocument& document, Compilation& compilation)
      : document_(document), compilation_(compilation) {}

  // All of a term's literals. Errors: as the compilation's.
  ConstantSet constants(const Term& term);
  NumberSet numbers(const Term& term);
  StringSet strings(const Term& term);
  std::vector<ArrayShape> arrays(const Term& term);
  std::vector<ObjectShape> objects(const Term& term);

  // Is it certain that nothing is accepted? Looks a few levels deep.
  bool is_surely_empty(const Term& term);
  bool is_surely_empty(const ArrayShape& shape);
  bool is_surely_empty(const ObjectShape& shape);

  SchemaDocument& document() { return document_; }
  Compilation& compilation() { return compilation_; }

  // For what is shared by the sources of this class.
  /// Checks the keywords of a schema, once. False: it is refused, or no schema at all.
  bool check(const SchemaValue& schema);
  /// The value that a keyword has if it says something here: null for absent keywords and for those
  /// beside a $ref of an old draft.
  const SchemaValue* keyword(const SchemaValue& schema, std::string_view name) const;
  const SchemaValue* target_of_ref(const SchemaValue& schema);
  void refuse(const SchemaValue& at, const std::string& message);
  void invalid(const SchemaValue& at, const std::string& message);
  std::uint64_t count(const SchemaValue& schema, std::string_view keyword, std::uint64_t otherwise);
  DfaPtr key_pattern(const std::string& pattern, const SchemaValue& at);

  ConstantSet own(const SchemaValue& schema, const ConstantSet& all);
  NumberSet own(const SchemaValue& schema, const NumberSet& all);
  StringSet own(const SchemaValue& schema, const StringSet& all);

 private:
  friend class Enter;
  friend class OtherPlace;

  /// Two literals ask for one value each, and these differ: what tells branches of oneOf apart,
  /// mostly.
  bool wants_two_values(const Term& term) const;

  SchemaDocument& document_;
  Compilation& compilation_;
  std::vector<const SchemaValue*> active_;  ///< being evaluated at one place of the instance
  int look_ = 3;                            ///< levels that is_surely_empty still goes down
  std::unordered_map<const SchemaValue*, bool> checked_;
  std::map<std::string, DfaPtr, std::less<>> patterns_;
};

/// Within its life, `schema` is being evaluated; a schema that leads back to itself without reading
/// anything is refused.
class Enter {
 public:
  Enter(SchemaSets& sets, const SchemaValue& schema);
  ~Enter() { sets_.active_.pop_back(); }
  Enter(const Enter&) = delete;
  Enter& operator=(const Enter&) = delete;
  bool ok() const { return ok_; }

 private:
  SchemaSets& sets_;
  AtPlace place_;
  bool ok_;
};

/// Within its life, schemas are evaluated at another place of the instance: that of an item or key.
class OtherPlace {
 public:
  explicit OtherPlace(SchemaSets& sets) : sets_(sets) { sets_.active_.swap(active_); }
  ~OtherPlace() { sets_.active_.swap(active_); }
  OtherPlace(const OtherPlace&) = delete;
  OtherPlace& operator=(const OtherPlace&) = delete;

 private:
  SchemaSets& sets_;
  std::vector<const SchemaValue*> active_;
};

/// All parts joined, in pairs: of automata, many small steps are cheaper than one that grows.
template <class Part, class Join>
Part joined(std::vector<Part> parts, Part none, const Join& join) {
  if (parts.empty()) return none;
  while (parts.size() > 1) {
    std::vector<Part> pairs;
    pairs.reserve(parts.size() / 2 + 1);
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      pairs.push_back(i + 1 < parts.size() ? join(parts[i], parts[i + 1]) : parts[i]);
    }
    parts = std::move(pairs);
  }
  return std::move(parts[0]);
}

/// The types that a schema allows by "type", a bit each.
enum TypeBit : std::uint8_t {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeInteger = 4,
  kTypeNumber = 8,
  kTypeString = 16,
  kTypeArray = 32,
  kTypeObject = 64,
  kTypesAll = 127,
};
unsigned types_of(const SchemaValue& type_keyword);

/// Equal as JSON values: numbers by value, objects without order.
bool equal_values(const SchemaValue& a, const SchemaValue& b);

}  // namespace forge::grammar
