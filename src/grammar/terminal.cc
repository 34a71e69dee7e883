#include <algorithm>
#include <array>
#include <atomic>

#include "automaton.h"
#include "number_set.h"
#include "schema_sets.h"

namespace forge::grammar {
namespace {

/// Characters that a string of JSON has as they are.
const CharSet kUnescaped = {{' ', '!'}, {'#', '['}, {']', kLastCharacter}};

/// The classes that have some character of `set`.
std::vector<bool> classes_of(const Dfa& dfa, const CharSet& set) {
  std::vector<bool> classes(dfa.classes, false);
  for (std::size_t i = 0; i < dfa.piece_begin.size(); ++i) {
    for (const CharRange& range : without_surrogates(set)) {
      const CharRange both{std::max(range.first, dfa.piece_begin[i]),
                           std::min(range.last, dfa.piece_last(i))};
      if (both.first <= both.last) classes[dfa.piece_class[i]] = true;
    }
  }
  return classes;
}

std::vector<bool> free_states(const Dfa& dfa) {
  const std::vector<bool> classes = classes_of(dfa, {{0, kLastCharacter}});
  std::vector<bool> is_free(dfa.states(), true);
  is_free[kDead] = false;
  for (State s = 1; s < dfa.states(); ++s) {
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      if (classes[c] && dfa.table[std::size_t{s} * dfa.classes + c] != s) is_free[s] = false;
    }
  }
  return is_free;
}

std::vector<bool> states_that_take_text(const Dfa& dfa) {
  const std::vector<bool> class_is_text = classes_of(dfa, kUnescaped);
  // Backwards from the dead state.
  std::vector<std::vector<State>> from(dfa.states());
  for (State s = 1; s < dfa.states(); ++s) {
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      if (!class_is_text[c]) continue;
      std::vector<State>& sources = from[dfa.table[std::size_t{s} * dfa.classes + c]];
      if (sources.empty() || sources.back() != s) sources.push_back(s);
    }
  }
  std::vector<bool> takes(dfa.states(), true);
  takes[kDead] = false;
  std::vector<State> todo{kDead};
  while (!todo.empty()) {
    const State s = todo.back();
    todo.pop_back();
    for (const State source : from[s]) {
      if (!takes[source]) continue;
      takes[source] = false;
      todo.push_back(source);
    }
  }
  return takes;
}

}  // namespace

Terminal make_terminal(DfaPtr dfa, Terminal::Form form, std::uint64_t least, std::uint64_t most) {
  static std::atomic<std::uint64_t> next_id{1};
  Terminal terminal;
  terminal.id = next_id.fetch_add(1, std::memory_order_relaxed);
  terminal.form = form;
  terminal.least = least;
  terminal.most = most;
  terminal.distance = distances_to_end(*dfa);
  for (State s = 1; s < dfa->states(); ++s) {
    terminal.distance_max = std::max(terminal.distance_max, terminal.distance[s]);
  }
  if (form == Terminal::Form::quoted) {
    terminal.takes_text = states_that_take_text(*dfa);
    terminal.is_free = free_states(*dfa);
  }
  terminal.dfa = std::move(dfa);
  return terminal;
}

const Terminal* any_string_terminal() {
  static const Terminal kTerminal = make_terminal(all_texts(), Terminal::Form::quoted, 0, kMany);
  return &kTerminal;
}

const Terminal* shared_number_terminal(bool integers) {
  const auto make = [](const NumberSet& set) {
    return make_terminal(set.texts(), Terminal::Form::plain, 0, kNumberCharsMax);
  };
  static const Terminal kIntegers = make(NumberSet::integers());
  static const Terminal kNumbers = make(NumberSet::all());
  return integers ? &kIntegers : &kNumbers;
}

const Terminal* literal_terminal(unsigned bits) {
  static const std::array<Terminal, 8> kTerminals = [] {
    std::array<Terminal, 8> terminals;
    for (unsigned b = 1; b < terminals.size(); ++b) {
      std::vector<std::u32string> words;
      if ((b & ConstantSet::kNull) != 0) words.emplace_back(U"null");
      if ((b & ConstantSet::kFalse) != 0) words.emplace_back(U"false");
      if ((b & ConstantSet::kTrue) != 0) words.emplace_back(U"true");
      Compilation unlimited({.steps_max = UINT64_MAX});
      terminals[b] = make_terminal(std::make_shared<const Dfa>(dfa_of_words(words, 0, unlimited)),
                                   Terminal::Form::plain, 0, kMany);
    }
    return terminals;
  }();
  return &kTerminals[bits];
}

}  // namespace forge::grammar
