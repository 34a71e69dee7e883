// What a schema says of arrays and objects, as a union of shapes.
//
// A shape is a conjunction that the automaton can follow while it reads. What "anyOf", "not" and
// the like say becomes a list of shapes, one of which must hold; the automaton follows all of them
// at once. What a shape says of an item or a value is a Term: schemas that hold or do not hold
// there, expanded only when an automaton for it is built, so recursion is no problem.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dfa.h"
#include "schema_document.h"
#include "string_set.h"

namespace forge::grammar {

/// A schema that holds, or that does not.
struct Literal {
  const SchemaValue* schema = nullptr;
  bool negated = false;

  friend bool operator==(const Literal&, const Literal&) = default;
  friend bool operator<(const Literal& a, const Literal& b) {
    return std::pair(a.schema->index, a.negated) < std::pair(b.schema->index, b.negated);
  }
};

/// All of them; in order, each once.
using Term = std::vector<Literal>;
void add_to(Term& term, const Literal& literal);
void add_to(Term& term, const Term& other);

struct ArrayShape {
  /// From `least` to `most` of the items from `from` on are as `item` says.
  struct Contains {
    Literal item;
    std::uint64_t least = 1;
    std::uint64_t most = kMany;
    std::uint64_t from = 0;
    friend bool operator==(const Contains&, const Contains&) = default;
  };

  std::vector<Term> prefix;
  Term rest;  ///< of each item after the prefix
  std::uint64_t least = 0;
  std::uint64_t most = kMany;
  std::vector<Contains> contains;
  const SchemaValue* unique = nullptr;  ///< the keyword that asks for it
  /// Items that "unevaluatedItems" has no say in: the first ones.
  std::uint64_t evaluated = 0;

  friend bool operator==(const ArrayShape&, const ArrayShape&) = default;

  static bool merge(ArrayShape& into, const ArrayShape& other, Compilation& compilation);
};

struct ObjectShape {
  /// What one schema object says of values, by their key.
  struct Group {
    std::map<std::u32string, Literal> names;
    std::vector<std::pair<DfaPtr, Literal>> patterns;
    std::optional<Literal> additional;  ///< of keys that are in neither
    bool evaluates = false;             ///< "unevaluatedProperties" has no say in these keys
    friend bool operator==(const Group&, const Group&) = default;
  };
  /// Some key of `keys` has a value as `value` says.
  struct Exists {
    DfaPtr keys;
    Literal value;
    friend bool operator==(const Exists&, const Exists&) = default;
  };

  std::vector<Group> groups;
  std::set<std::u32string> required;
  std::uint64_t least = 0;
  std::uint64_t most = kMany;
  StringSet keys = StringSet::all();
  std::vector<Exists> exists;

  friend bool operator==(const ObjectShape&, const ObjectShape&) = default;

  static bool merge(ObjectShape& into, const ObjectShape& other, Compilation& compilation);
};

}  // namespace forge::grammar
