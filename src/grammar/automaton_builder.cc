#include "automaton_builder.h"

#include <algorithm>

#include "number_set.h"

namespace forge::grammar {
namespace {

/// Without what says nothing.
Term simplified(const Term& term) {
  Term result;
  for (const Literal& literal : term) {
    const bool says_nothing = literal.schema->is(SchemaValue::Kind::boolean) &&
                              literal.schema->boolean != literal.negated;
    if (!says_nothing) result.push_back(literal);
  }
  return result;
}

}  // namespace

bool is_nothing(const Term& term) {
  return std::any_of(term.begin(), term.end(), [](const Literal& literal) {
    return literal.schema->is(SchemaValue::Kind::boolean) &&
           literal.schema->boolean == literal.negated;
  });
}

AutomatonBuilder::AutomatonBuilder(SchemaSets& sets)
    : sets_(sets),
      compilation_(sets.compilation()),
      automaton_(std::make_shared<Grammar::Automaton>()) {}

std::shared_ptr<Grammar::Automaton> AutomatonBuilder::build(const Term& term) {
  const ValueId root = id_of(term);
  automaton_->documents.push_back({"", root, ""});
  for (ValueId id = 0; id < terms_.size() && !compilation_.failed(); ++id) build_value(id);
  if (compilation_.failed()) return nullptr;
  settle_costs(*automaton_, compilation_);
  if (automaton_->values[root].cost >= kNever) {
    compilation_.fail({GrammarError::Kind::empty, "", "nothing is valid: no instance can end"});
  }
  return compilation_.failed() ? nullptr : automaton_;
}

ValueId AutomatonBuilder::id_of(Term term) {
  term = simplified(term);
  const auto [place, is_new] = ids_.try_emplace(term, static_cast<ValueId>(terms_.size()));
  if (is_new) {
    compilation_.spend(1 + term.size());
    terms_.push_back(std::move(term));
    automaton_->values.emplace_back();
  }
  return place->second;
}

void AutomatonBuilder::build_value(ValueId id) {
  const Term term = terms_[id];
  if (is_nothing(term)) return;
  ValueNode node;
  const ConstantSet constants = sets_.constants(term);
  if (!constants.is_none()) node.literal = literal_terminal(constants.bits());
  node.number = number_terminal(sets_.numbers(term));
  node.string = string_terminal(sets_.strings(term));
  for (const ArrayShape& shape : sets_.arrays(term)) {
    ArrayNode array = build_array(shape);
    node.arrays.push_back(static_cast<std::uint32_t>(automaton_->arrays.size()));
    automaton_->arrays.push_back(std::move(array));
  }
  for (const ObjectShape& shape : sets_.objects(term)) {
    ObjectNode object;
    if (!build_object(shape, object)) continue;
    node.objects.push_back(static_cast<std::uint32_t>(automaton_->objects.size()));
    automaton_->objects.push_back(std::move(object));
  }
  automaton_->values[id] = std::move(node);
}

const Terminal* AutomatonBuilder::add_terminal(DfaPtr dfa, Terminal::Form form, std::uint64_t least,
                                               std::uint64_t most) {
  if (!compilation_.spend(dfa->table.size())) return nullptr;
  auto terminal =
      std::make_unique<const Terminal>(make_terminal(std::move(dfa), form, least, most));
  automaton_->terminals.push_back(std::move(terminal));
  return automaton_->terminals.back().get();
}

const Terminal* AutomatonBuilder::number_terminal(const NumberSet& set) {
  if (set.is_none() || compilation_.failed()) return nullptr;
  if (set.is_all()) return shared_number_terminal(false);
  if (set.kind() == NumberSet::Kind::integers) return shared_number_terminal(true);
  // A number that is asked for may be longer than others.
  const DfaPtr texts = set.texts();
  const std::uint64_t most = kNumberCharsMax + distances_to_end(*texts)[texts->start];
  return add_terminal(texts, Terminal::Form::plain, 0, most);
}

const Terminal* AutomatonBuilder::string_terminal(const StringSet& set) {
  if (set.is_none() || compilation_.failed()) return nullptr;
  if (set.is_all()) return any_string_terminal();
  if (set.pattern() == all_texts()) {
    return add_terminal(set.pattern(), Terminal::Form::quoted, set.least(), set.most());
  }
  // A text that is too short could be in a state from which none of the right length is accepted;
  // one that is too long cannot: the distance to an end is known.
  DfaPtr pattern = set.pattern();
  if (set.least() > 0) {
    pattern = std::make_shared<const Dfa>(
        intersection(*pattern, texts_of_length(set.least(), kMany, compilation_), compilation_));
  }
  if (pattern->empty() || distances_to_end(*pattern)[pattern->start] > set.most()) return nullptr;
  return add_terminal(std::move(pattern), Terminal::Form::quoted, 0, set.most());
}

ArrayNode AutomatonBuilder::build_array(const ArrayShape& shape) {
  constexpr std::size_t kContainsMax = 4;
  ArrayNode node;
  if (shape.contains.size() > kContainsMax) {
    sets_.refuse(*shape.contains[0].item.schema,
                 "more than 4 conditions on some items of one array are not supported");
    return node;
  }
  // From this index on all items are alike.
  std::uint64_t alike = std::max<std::uint64_t>(shape.prefix.size(), shape.least);
  if (shape.most < kMany) alike = std::max(alike, shape.most);
  for (const auto& contains : shape.contains) alike = std::max(alike, contains.from);

  using Counts = std::vector<std::uint64_t>;  // items, then those of each condition
  std::map<Counts, std::uint32_t> names;
  std::vector<Counts> states;
  const auto name_of = [&](const Counts& counts) {
    const auto [place, is_new] =
        names.try_emplace(counts, static_cast<std::uint32_t>(states.size()));
    if (is_new) states.push_back(counts);
    return place->second;
  };
  name_of(Counts(1 + shape.contains.size(), 0));
  while (node.states.size() < states.size()) {
    if (!compilation_.spend(4)) return node;
    const Counts counts = states[node.states.size()];
    ArrayNode::State& state = node.states.emplace_back();
    state.accepts = counts[0] >= shape.least;
    for (std::size_t i = 0; i < shape.contains.size(); ++i) {
      if (counts[i + 1] < shape.contains[i].least) state.accepts = false;
    }
    if (counts[0] >= shape.most) continue;
    const Term& item = counts[0] < shape.prefix.size() ? shape.prefix[counts[0]] : shape.rest;
    for (unsigned chosen = 0; chosen < 1U << shape.contains.size(); ++chosen) {
      Term term = item;
      Counts next = counts;
      next[0] = std::min(alike, counts[0] + 1);
      bool can_be = true;
      for (std::size_t i = 0; i < shape.contains.size(); ++i) {
        const ArrayShape::Contains& contains = shape.contains[i];
        const bool is_chosen = (chosen >> i & 1U) != 0;
        if (counts[0] < contains.from) {
          can_be = can_be && !is_chosen;
          continue;
        }
        if (is_chosen) {
          add_to(term, contains.item);
          can_be = can_be && counts[i + 1] + 1 <= contains.most;
          const std::uint64_t enough = contains.most < kMany ? contains.most : contains.least;
          next[i + 1] = std::min(enough, counts[i + 1] + 1);
        } else if (contains.most < kMany) {
          add_to(term, Literal{contains.item.schema, !contains.item.negated});
        }
      }
      if (!can_be || is_nothing(term)) continue;
      const ValueId value = id_of(std::move(term));
      state.items.emplace_back(value, name_of(next));
    }
  }
  return node;
}

}  // namespace forge::grammar
