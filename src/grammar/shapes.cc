#include "shapes.h"

#include <algorithm>

namespace forge::grammar {

void add_to(Term& term, const Literal& literal) {
  const auto place = std::lower_bound(term.begin(), term.end(), literal);
  if (place == term.end() || !(*place == literal)) term.insert(place, literal);
}

void add_to(Term& term, const Term& other) {
  for (const Literal& literal : other) add_to(term, literal);
}

/// False where no array is of both.
bool ArrayShape::merge(ArrayShape& into, const ArrayShape& other, Compilation& compilation) {
  const std::size_t size = std::max(into.prefix.size(), other.prefix.size());
  if (!compilation.spend(size + 1)) return false;
  into.prefix.resize(size, into.rest);
  for (std::size_t i = 0; i < size; ++i) {
    add_to(into.prefix[i], i < other.prefix.size() ? other.prefix[i] : other.rest);
  }
  add_to(into.rest, other.rest);
  into.least = std::max(into.least, other.least);
  into.most = std::min(into.most, other.most);
  for (const Contains& contains : other.contains) {
    if (std::find(into.contains.begin(), into.contains.end(), contains) == into.contains.end()) {
      into.contains.push_back(contains);
    }
  }
  if (into.unique == nullptr) into.unique = other.unique;
  into.evaluated = std::max(into.evaluated, other.evaluated);
  return into.least <= into.most;
}

namespace {

/// What a copy of it costs, in steps.
std::uint64_t size_of(const ObjectShape& shape) {
  std::uint64_t size = shape.required.size() + shape.exists.size();
  for (const ObjectShape::Group& group : shape.groups) {
    size += 1 + group.names.size() + group.patterns.size();
  }
  return size;
}

}  // namespace

/// False where no object is of both.
bool ObjectShape::merge(ObjectShape& into, const ObjectShape& other, Compilation& compilation) {
  if (!compilation.spend(1 + size_of(into) + size_of(other))) return false;
  for (const Group& group : other.groups) {
    if (std::find(into.groups.begin(), into.groups.end(), group) == into.groups.end()) {
      into.groups.push_back(group);
    }
  }
  into.required.insert(other.required.begin(), other.required.end());
  into.least = std::max(into.least, other.least);
  into.most = std::min(into.most, other.most);
  into.keys = into.keys.intersect(other.keys, compilation);
  for (const Exists& exists : other.exists) {
    if (std::find(into.exists.begin(), into.exists.end(), exists) == into.exists.end()) {
      into.exists.push_back(exists);
    }
  }
  const std::uint64_t least = std::max<std::uint64_t>(into.least, into.required.size());
  return least <= into.most && (!into.keys.is_none() || least == 0);
}

}  // namespace forge::grammar
