// Filters that go through what they are given: order, groups, parts, ends.
#include <algorithm>

#include "filters.h"
#include "methods.h"

namespace forge::chat::detail {
namespace {

/// Sorts `keys` and gives their places, equal ones in the order that they had.
std::vector<std::size_t> sorted_places(Budget& budget, const std::vector<Value>& keys,
                                       bool reverse) {
  std::vector<std::size_t> places(keys.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return reverse ? less(budget, keys[b], keys[a]) : less(budget, keys[a], keys[b]);
  });
  return places;
}

Value sort(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"reverse", "case_sensitive", "attribute"});
  const bool case_sensitive = given.boolean(1, false);
  Budget& budget = interpreter.budget();
  // An attribute may be several, with commas between them.
  std::vector<AttributePath> paths;
  if (given.some(2) != nullptr && given.required(2).is_string()) {
    const Value comma = constant_string(",");
    const Value split = split_text(interpreter, given.required(2), &comma, -1);
    for (const Value& path : split.sequence().elements) paths.emplace_back(interpreter, &path);
  } else {
    paths.emplace_back(interpreter, given.at(2));
  }
  const std::vector<Value> elements = collect(budget, value);
  std::vector<Value> keys;
  keys.reserve(elements.size());
  for (const Value& element : elements) {
    std::vector<Value> parts;
    parts.reserve(paths.size());
    for (const AttributePath& path : paths) parts.push_back(path.key_of(element, case_sensitive));
    keys.push_back(interpreter.list(std::move(parts)));
  }
  std::vector<Value> out;
  out.reserve(elements.size());
  for (const std::size_t place : sorted_places(budget, keys, given.boolean(0, false))) {
    out.push_back(elements[place]);
  }
  return interpreter.list(std::move(out));
}

Value dictsort(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"case_sensitive", "by", "reverse"});
  const std::string_view by = given.text(1, "key");
  if (by != "key" && by != "value") {
    raise(Exception::other, "You can only sort by either \"key\" or \"value\"");
  }
  if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
  if (!value.is(Kind::dict)) {
    raise(Exception::other, "'" + type_name(value) + "' object has no attribute 'items'");
  }
  const AttributePath path(interpreter, nullptr);
  const auto& members = value.dict().members;
  std::vector<Value> keys;
  keys.reserve(members.size());
  for (const auto& [key, member] : members) {
    keys.push_back(path.key_of(by == "key" ? key : member, given.boolean(0, false)));
  }
  Budget& budget = interpreter.budget();
  std::vector<Value> out;
  out.reserve(members.size());
  for (const std::size_t place : sorted_places(budget, keys, given.boolean(2, false))) {
    out.push_back(make_tuple(budget, {members[place].first, members[place].second}));
  }
  return interpreter.list(std::move(out));
}

Value group(Budget& budget, const Value& key, std::vector<Value> elements) {
  Value pair = make_tuple(budget, {key, make_list(budget, std::move(elements))});
  pair.as<Sequence>().is_group = true;
  return pair;
}

Value groupby(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(interpreter, given.at(0));
  const bool case_sensitive = given.boolean(2, false);
  Budget& budget = interpreter.budget();
  const std::vector<Value> elements = collect(budget, value);
  std::vector<Value> keys;
  keys.reserve(elements.size());
  for (const Value& element : elements) {
    keys.push_back(path.key_of(element, case_sensitive, given.some(1)));
  }
  const auto places = sorted_places(budget, keys, false);
  std::vector<Value> groups;
  for (std::size_t i = 0; i < places.size();) {
    std::vector<Value> members;
    const std::size_t first = i;
    while (i < places.size() && equal(budget, keys[places[first]], keys[places[i]])) {
      members.push_back(elements[places[i++]]);
    }
    const Value key = path.of(members[0], given.some(1));
    groups.push_back(group(budget, key, std::move(members)));
  }
  return interpreter.list(std::move(groups));
}

template <bool kLargest>
Value extreme(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"case_sensitive", "attribute"});
  const AttributePath path(interpreter, given.at(1));
  const bool case_sensitive = given.boolean(0, false);
  Budget& budget = interpreter.budget();
  Iteration elements(budget, value);
  auto best = elements.next();
  if (!best) return make_undefined("No aggregated item, sequence was empty.");
  Value best_key = path.key_of(*best, case_sensitive);
  while (auto element = elements.next()) {
    Value key = path.key_of(*element, case_sensitive);
    if (!(kLargest ? less(budget, best_key, key, ">") : less(budget, key, best_key))) continue;
    best = std::move(element);
    best_key = std::move(key);
  }
  return *best;
}

Value first(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  auto element = Iteration(interpreter.budget(), value).next();
  return element ? *element : make_undefined("No first item, sequence was empty.");
}

/// reversed(value): errors where Python has no such order.
std::vector<Value> reversed_elements(Interpreter& interpreter, const Value& value) {
  if (value.is(Kind::generator) || !is_iterable(value)) {
    raise_type("'" + type_name(value) + "' object is not reversible");
  }
  std::vector<Value> elements = collect(interpreter.budget(), value);
  std::reverse(elements.begin(), elements.end());
  return elements;
}

Value last(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
  const auto elements = reversed_elements(interpreter, value);
  return elements.empty() ? make_undefined("No last item, sequence was empty.") : elements[0];
}

Value generator_of(Interpreter& interpreter, std::string name, std::vector<Value> elements) {
  const Value list = interpreter.list(std::move(elements));
  auto place = std::make_shared<std::size_t>(0);
  return make_generator(interpreter.budget(), std::move(name), depth_of(list),
                        [list, place]() -> std::optional<Value> {
                          const auto& all = list.sequence().elements;
                          if (*place == all.size()) return std::nullopt;
                          return all[(*place)++];
                        });
}

Value reverse(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  if (value.is_string()) {
    SliceBounds bounds;
    bounds.step = Value(std::int64_t{-1});
    return slice(interpreter, value, bounds);
  }
  if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
  if (value.is(Kind::generator)) {
    auto elements = collect(interpreter.budget(), value);
    std::reverse(elements.begin(), elements.end());
    return interpreter.list(std::move(elements));
  }
  if (!is_iterable(value)) raise(Exception::other, "argument must be iterable");
  return generator_of(interpreter, "list_reverseiterator", reversed_elements(interpreter, value));
}

Value length(Interpreter& /*interpreter*/, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  if (const auto size = length_of(value)) return Value(*size);
  raise_type("object of type '" + type_name(value) + "' has no len()");
}

Value list(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return interpreter.list(collect(interpreter.budget(), value));
}

Value join(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"d", "attribute"});
  const AttributePath path(interpreter, given.at(1));
  const std::string separator = given.at(0) == nullptr ? "" : interpreter.str(given.required(0));
  std::vector<std::string> parts;
  Iteration elements(interpreter.budget(), value);
  while (const auto element = elements.next()) {
    parts.push_back(interpreter.str(path.of(*element)));
    interpreter.budget().make(parts.back().size());
  }
  return join_texts(interpreter, separator, parts, false);
}

Value items(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  if (value.is(Kind::undefined)) return generator_of(interpreter, "generator", {});
  if (!value.is(Kind::dict)) {
    // A generator, which fails only where it is gone through.
    return make_generator(interpreter.budget(), "generator", 1, []() -> std::optional<Value> {
      raise_type("Can only get item pairs from a mapping.");
    });
  }
  std::vector<Value> pairs;
  pairs.reserve(value.dict().members.size());
  for (const auto& [key, member] : value.dict().members) {
    pairs.push_back(make_tuple(interpreter.budget(), {key, member}));
  }
  return generator_of(interpreter, "generator", std::move(pairs));
}

Value slice_into(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"slices", "fill_with"}, 1);
  Budget& budget = interpreter.budget();
  const std::vector<Value> all = collect(budget, value);
  const std::int64_t slices = given.integer(0, 1);
  if (slices == 0) raise(Exception::other, "integer division or modulo by zero");
  const auto size = static_cast<std::int64_t>(all.size());
  std::vector<Value> out;
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < slices; ++i) {
    budget.step();
    const std::int64_t count = size / slices + (i < size % slices ? 1 : 0);
    std::vector<Value> part(all.begin() + offset, all.begin() + offset + count);
    offset += count;
    if (given.some(1) != nullptr && i >= size % slices) part.push_back(given.required(1));
    out.push_back(interpreter.list(std::move(part)));
  }
  return generator_of(interpreter, "generator", std::move(out));
}

Value batch(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"linecount", "fill_with"}, 1);
  Budget& budget = interpreter.budget();
  const std::int64_t wanted = given.integer(0, 1);
  std::vector<Value> out;
  std::vector<Value> part;
  for (Value& element : collect(budget, value)) {
    if (static_cast<std::int64_t>(part.size()) == wanted) {
      out.push_back(interpreter.list(std::exchange(part, {})));
    }
    part.push_back(std::move(element));
  }
  if (!part.empty()) {
    const auto size = static_cast<std::int64_t>(part.size());
    if (given.some(1) != nullptr && size < wanted) {
      budget.make(static_cast<std::uint64_t>(wanted), sizeof(Value));
      part.resize(static_cast<std::size_t>(wanted), given.required(1));
    }
    out.push_back(interpreter.list(std::move(part)));
  }
  return generator_of(interpreter, "generator", std::move(out));
}

constexpr NamedFilter kListFilterTable[] = {
    {"batch", batch},     {"count", length},     {"dictsort", dictsort}, {"first", first},
    {"groupby", groupby}, {"items", items},      {"join", join},         {"last", last},
    {"length", length},   {"list", list},        {"max", extreme<true>}, {"min", extreme<false>},
    {"reverse", reverse}, {"slice", slice_into}, {"sort", sort},
};

}  // namespace

const std::span<const NamedFilter> kListFilters = kListFilterTable;

}  // namespace forge::chat::detail
