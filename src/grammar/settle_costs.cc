// Which nodes can be completed at all, and how short.
#include <algorithm>

#include "automaton_builder.h"

namespace forge::grammar {
namespace {

constexpr std::uint64_t kQuotes = 2;
constexpr std::uint64_t kBrackets = 2;
constexpr std::uint64_t kSeparator = 1;

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return std::min(kNever, a + b); }

/// States from which all others that follow have any number of keys.
std::vector<bool> endless_states(const Terminal& keys) {
  const Dfa& dfa = *keys.dfa;
  std::vector<bool> endless(dfa.states());
  std::vector<std::vector<State>> from(dfa.states());
  std::vector<State> todo;
  for (State s = 0; s < dfa.states(); ++s) {
    endless[s] = keys.words[s] == kMany;
    if (!endless[s] && s != kDead) todo.push_back(s);
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      const State to = dfa.table[std::size_t{s} * dfa.classes + c];
      if (to != kDead && (from[to].empty() || from[to].back() != s)) from[to].push_back(s);
    }
  }
  while (!todo.empty()) {
    const State s = todo.back();
    todo.pop_back();
    for (const State source : from[s]) {
      if (!endless[source]) continue;
      endless[source] = false;
      todo.push_back(source);
    }
  }
  return endless;
}

class Settler {
 public:
  Settler(Grammar::Automaton& automaton, Compilation& compilation)
      : automaton_(automaton),
        compilation_(compilation),
        array_cost_(automaton.arrays.size(), kNever),
        object_cost_(automaton.objects.size(), kNever) {}

  void run() {
    bool changed = true;
    while (changed && compilation_.spend(automaton_.values.size() + 1)) {
      changed = false;
      for (std::size_t i = 0; i < automaton_.arrays.size(); ++i) settle_array(i);
      for (std::size_t i = 0; i < automaton_.objects.size(); ++i) {
        object_cost_[i] = cost_of(automaton_.objects[i]);
      }
      for (ValueNode& value : automaton_.values) {
        const std::uint64_t cost = cost_of(value);
        changed = changed || cost != value.cost;
        value.cost = cost;
      }
    }
    for (std::size_t i = 0; i < automaton_.objects.size(); ++i) {
      automaton_.objects[i].cost = object_cost_[i];
    }
    for (ArrayNode& array : automaton_.arrays) prune(array);
    for (ObjectNode& object : automaton_.objects) prune(object);
    for (ValueNode& value : automaton_.values) prune(value);
  }

 private:
  static std::uint64_t cost_of(const Terminal* terminal, std::uint64_t around) {
    if (terminal == nullptr) return kNever;
    return around +
           std::max<std::uint64_t>(terminal->least, terminal->distance[terminal->dfa->start]);
  }

  std::uint64_t cost_of(const ValueNode& value) const {
    std::uint64_t cost = std::min(
        {cost_of(value.literal, 0), cost_of(value.number, 0), cost_of(value.string, kQuotes)});
    for (const std::uint32_t array : value.arrays) cost = std::min(cost, array_cost_[array]);
    for (const std::uint32_t object : value.objects) cost = std::min(cost, object_cost_[object]);
    return cost;
  }

  /// Later states first: most ways lead to them.
  void settle_array(std::size_t index) {
    std::vector<ArrayNode::State>& states = automaton_.arrays[index].states;
    bool changed = true;
    while (changed && compilation_.spend(states.size() + 1)) {
      changed = false;
      for (std::size_t s = states.size(); s > 0; --s) {
        ArrayNode::State& state = states[s - 1];
        std::uint64_t cost = state.accepts ? 0 : kNever;
        for (const auto& [value, next] : state.items) {
          const std::uint64_t item = sum(automaton_.values[value].cost, kSeparator);
          cost = std::min(cost, sum(item, states[next].cost));
        }
        changed = changed || cost != state.cost;
        state.cost = cost;
      }
    }
    if (!states.empty()) array_cost_[index] = sum(kBrackets, states[0].cost);
  }

  std::uint64_t cost_of(const ObjectNode::Rule& rule) const {
    std::uint64_t cost = kNever;
    for (const auto& [value, exists] : rule.values) {
      cost = std::min(cost, automaton_.values[value].cost);
    }
    return cost;
  }

  std::uint64_t cost_of(const ObjectNode& object) {
    std::uint64_t cost = kBrackets;
    for (const ObjectNode::Rule& rule : object.rules) {
      if (!rule.required) continue;
      cost = sum(cost, sum(cost_of(rule), rule.name.size() + kQuotes + 2 * kSeparator));
    }
    for (std::uint32_t bit = 1; bit <= object.exists && cost < kNever; bit <<= 1) {
      std::uint64_t cheapest = kNever;
      for (const ObjectNode::Rule& rule : object.rules) {
        for (const auto& [value, exists] : rule.values) {
          if ((exists & bit) == 0) continue;
          cheapest = std::min(cheapest, automaton_.values[value].cost);
        }
      }
      cost = sum(cost, sum(cheapest, kQuotes + 2 * kSeparator));
    }
    if (cost >= kNever || object.least <= object.required) return cost;
    return sum(cost, cost_of_more(object, object.least - object.required));
  }

  /// Of `count` keys that are not required, by the cheapest values of all. A key costs as its
  /// label.
  std::uint64_t cost_of_more(const ObjectNode& object, std::uint64_t count) {
    if (!compilation_.spend(object.keys.dfa->table.size())) return kNever;
    std::vector<std::pair<std::uint64_t, Label>> labels;
    for (std::size_t i = 0; i < object.rules.size(); ++i) {
      const std::uint64_t cost = cost_of(object.rules[i]);
      if (cost < kNever && !object.rules[i].required) labels.emplace_back(cost, i + 1);
    }
    std::sort(labels.begin(), labels.end());
    std::uint64_t total = 0;
    for (const auto& [cost, label] : labels) {
      std::vector<bool> counted(object.rules.size() + 1, false);
      counted[label] = true;
      const std::uint64_t words = words_from(*object.keys.dfa, counted)[object.keys.dfa->start];
      const std::uint64_t taken = std::min(count, words);
      const std::uint64_t each = sum(cost, kQuotes + 2 * kSeparator);
      total = taken > 0 && each > kNever / taken ? kNever : sum(total, each * taken);
      count -= taken;
      if (count == 0) return total;
    }
    return kNever;
  }

  void prune(ArrayNode& array) {
    for (ArrayNode::State& state : array.states) {
      std::erase_if(state.items, [&](const auto& item) {
        return automaton_.values[item.first].cost >= kNever ||
               array.states[item.second].cost >= kNever;
      });
    }
  }

  void prune(ObjectNode& object) {
    const Terminal keys = std::move(object.keys);
    Dfa dfa = *keys.dfa;
    for (ObjectNode::Rule& rule : object.rules) {
      std::erase_if(rule.values, [&](const auto& value) {
        return automaton_.values[value.first].cost >= kNever;
      });
    }
    for (Label& label : dfa.labels) {
      if (label != 0 && object.rules[label - 1].values.empty()) label = 0;
    }
    dfa = trimmed(dfa, compilation_);
    std::vector<bool> all(object.rules.size() + 1, true);
    std::vector<bool> required(object.rules.size() + 1, false);
    for (std::size_t i = 0; i < object.rules.size(); ++i)
      required[i + 1] = object.rules[i].required;
    object.keys = make_terminal(std::make_shared<const Dfa>(std::move(dfa)), Terminal::Form::quoted,
                                0, kMany);
    object.keys.words = words_from(*object.keys.dfa, all);
    object.keys.required_words = words_from(*object.keys.dfa, required);
    object.keys.is_required = required;
    object.keys.endless = endless_states(object.keys);
    if (object.exists != 0 && !object.keys.dfa->empty() &&
        !object.keys.endless[object.keys.dfa->start]) {
      compilation_.fail({GrammarError::Kind::unsupported, "",
                         "a condition on some value of an object with a limited number of keys is "
                         "not supported"});
    }
  }

  void prune(ValueNode& value) {
    std::erase_if(value.arrays, [&](std::uint32_t a) { return array_cost_[a] >= kNever; });
    std::erase_if(value.objects, [&](std::uint32_t o) { return object_cost_[o] >= kNever; });
  }

  Grammar::Automaton& automaton_;
  Compilation& compilation_;
  std::vector<std::uint64_t> array_cost_;
  std::vector<std::uint64_t> object_cost_;
};

}  // namespace

void settle_costs(Grammar::Automaton& automaton, Compilation& compilation) {
  Settler(automaton, compilation).run();
}

}  // namespace forge::grammar
