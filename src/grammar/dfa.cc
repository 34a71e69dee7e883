#include "dfa.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace forge::grammar {
namespace {

constexpr CharRange kSurrogates{0xD800, 0xDFFF};

std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) { return std::min(kMany, a + b); }
std::uint64_t capped_product(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > kMany / a ? kMany : a * b;
}

/// The states of `dfa` that lead to a label, by going backwards from those.
std::vector<bool> states_alive(const Dfa& dfa) {
  const std::size_t states = dfa.states();
  std::vector<std::uint32_t> begins(states + 1, 0);
  for (const State to : dfa.table) ++begins[to];
  std::uint32_t sum = 0;
  for (std::uint32_t& begin : begins) sum += std::exchange(begin, sum);
  std::vector<State> from(dfa.table.size());
  std::vector<std::uint32_t> filled(begins.begin(), begins.end() - 1);
  for (State s = 0; s < states; ++s) {
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      from[filled[dfa.table[std::size_t{s} * dfa.classes + c]]++] = s;
    }
  }
  std::vector<bool> alive(states, false);
  std::vector<State> todo;
  todo.reserve(states);
  for (State s = 0; s < states; ++s) {
    if (dfa.labels[s] == 0) continue;
    alive[s] = true;
    todo.push_back(s);
  }
  while (!todo.empty()) {
    const State s = todo.back();
    todo.pop_back();
    for (std::uint32_t i = begins[s]; i < begins[s + 1]; ++i) {
      if (alive[from[i]]) continue;
      alive[from[i]] = true;
      todo.push_back(from[i]);
    }
  }
  return alive;
}

/// How many characters each class has, without surrogates.
std::vector<std::uint64_t> class_sizes(const Dfa& dfa) {
  std::vector<std::uint64_t> sizes(dfa.classes, 0);
  for (std::size_t i = 0; i < dfa.piece_begin.size(); ++i) {
    const CharSet piece = without_surrogates({{dfa.piece_begin[i], dfa.piece_last(i)}});
    for (const CharRange& range : piece) sizes[dfa.piece_class[i]] += range.last - range.first + 1;
  }
  return sizes;
}

}  // namespace

CharSet normalized(CharSet set) {
  std::sort(set.begin(), set.end());
  CharSet result;
  result.reserve(set.size());
  for (const CharRange& range : set) {
    if (!result.empty() && range.first <= result.back().last + 1) {
      result.back().last = std::max(result.back().last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

CharSet without_surrogates(const CharSet& set) {
  CharSet result;
  result.reserve(set.size() + 1);
  for (const CharRange& range : set) {
    if (range.last < kSurrogates.first || range.first > kSurrogates.last) {
      result.push_back(range);
      continue;
    }
    if (range.first < kSurrogates.first) result.push_back({range.first, kSurrogates.first - 1});
    if (range.last > kSurrogates.last) result.push_back({kSurrogates.last + 1, range.last});
  }
  return result;
}

CharSet complement_of(const CharSet& set) {
  CharSet result;
  result.reserve(set.size() + 2);
  char32_t next = 0;
  for (const CharRange& range : set) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCharacter) result.push_back({next, kLastCharacter});
  return without_surrogates(result);
}

std::size_t Dfa::piece_of(char32_t c) const {
  const auto after = std::upper_bound(piece_begin.begin(), piece_begin.end(), c);
  return static_cast<std::size_t>(after - piece_begin.begin()) - 1;
}

State state_after(const Dfa& dfa, std::u32string_view text) {
  State state = dfa.start;
  for (const char32_t c : text) state = dfa.next(state, c);
  return state;
}

void set_pieces(Dfa& dfa, std::vector<char32_t> begins, std::vector<std::uint32_t> class_of_piece) {
  dfa.piece_begin = std::move(begins);
  dfa.piece_class = std::move(class_of_piece);
  dfa.classes = 1 + *std::max_element(dfa.piece_class.begin(), dfa.piece_class.end());
  for (char32_t c = 0; c < dfa.ascii_class.size(); ++c) {
    dfa.ascii_class[c] = dfa.piece_class[dfa.piece_of(c)];
  }
}

Dfa trimmed(const Dfa& dfa, Compilation& compilation) {
  Dfa result;
  result.piece_begin = dfa.piece_begin;
  result.piece_class = dfa.piece_class;
  result.ascii_class = dfa.ascii_class;
  result.classes = dfa.classes;
  result.table.assign(dfa.classes, kDead);
  if (!compilation.spend(dfa.table.size())) return result;
  const std::vector<bool> alive = states_alive(dfa);
  if (!alive[dfa.start]) return result;
  std::vector<State> name(dfa.states(), kDead);
  std::vector<State> old{kDead, dfa.start};
  name[dfa.start] = 1;
  result.start = 1;
  for (std::size_t s = 1; s < old.size(); ++s) {
    result.labels.push_back(dfa.labels[old[s]]);
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      const State to = dfa.table[std::size_t{old[s]} * dfa.classes + c];
      if (alive[to] && name[to] == kDead) {
        name[to] = static_cast<State>(old.size());
        old.push_back(to);
      }
      result.table.push_back(alive[to] ? name[to] : kDead);
    }
  }
  return result;
}

Dfa product(const Dfa& a, const Dfa& b, Combine combine, Compilation& compilation) {
  Dfa result;
  // The pieces of both, and a class for each pair of classes that occurs.
  std::vector<char32_t> begins;
  std::vector<std::uint32_t> classes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pairs;
  begins.reserve(a.piece_begin.size() + b.piece_begin.size());
  classes.reserve(begins.capacity());
  for (std::size_t i = 0, k = 0; i < a.piece_begin.size() && k < b.piece_begin.size();) {
    begins.push_back(std::max(a.piece_begin[i], b.piece_begin[k]));
    const auto pair = std::pair(a.piece_class[i], b.piece_class[k]);
    classes.push_back(
        pairs.try_emplace(pair, static_cast<std::uint32_t>(pairs.size())).first->second);
    const char32_t a_last = a.piece_last(i);
    const char32_t b_last = b.piece_last(k);
    if (a_last <= b_last) ++i;
    if (b_last <= a_last) ++k;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_of(pairs.size());
  for (const auto& [pair, name] : pairs) pair_of[name] = pair;
  set_pieces(result, std::move(begins), std::move(classes));
  result.table.assign(result.classes, kDead);

  const bool needs_a = combine(0, 1) == 0;
  const bool needs_b = combine(1, 0) == 0;
  std::unordered_map<std::uint64_t, State> names;
  std::vector<std::pair<State, State>> states{{kDead, kDead}};
  const auto name_of = [&](State in_a, State in_b) -> State {
    if ((needs_a && in_a == kDead) || (needs_b && in_b == kDead)) return kDead;
    if (in_a == kDead && in_b == kDead) return kDead;
    const std::uint64_t key = std::uint64_t{in_a} << 32 | in_b;
    const auto [place, is_new] = names.try_emplace(key, static_cast<State>(states.size()));
    if (is_new) states.emplace_back(in_a, in_b);
    return place->second;
  };
  result.start = name_of(a.start, b.start);
  for (std::size_t s = 1; s < states.size(); ++s) {
    if (!compilation.spend(result.classes)) return Dfa();
    const auto [in_a, in_b] = states[s];
    result.labels.push_back(combine(a.labels[in_a], b.labels[in_b]));
    for (std::uint32_t c = 0; c < result.classes; ++c) {
      result.table.push_back(name_of(a.table[std::size_t{in_a} * a.classes + pair_of[c].first],
                                     b.table[std::size_t{in_b} * b.classes + pair_of[c].second]));
    }
  }
  return trimmed(result, compilation);
}

Dfa intersection(const Dfa& a, const Dfa& b, Compilation& compilation) {
  return product(
      a, b, [](Label x, Label y) { return x != 0 && y != 0 ? x : Label{0}; }, compilation);
}

Dfa union_of(const Dfa& a, const Dfa& b, Compilation& compilation) {
  return product(
      a, b, [](Label x, Label y) { return x != 0 ? x : y; }, compilation);
}

Dfa difference(const Dfa& a, const Dfa& b, Compilation& compilation) {
  return product(
      a, b, [](Label x, Label y) { return y == 0 ? x : Label{0}; }, compilation);
}

Dfa complement(const Dfa& a, Compilation& compilation) {
  return difference(*all_texts(), a, compilation);
}

const DfaPtr& all_texts() {
  static const DfaPtr kAll = [] {
    auto all = std::make_shared<Dfa>();
    set_pieces(*all, {0, kSurrogates.first, kSurrogates.last + 1}, {0, 1, 0});
    all->table = {kDead, kDead, 1, kDead};
    all->labels = {0, 1};
    all->start = 1;
    return all;
  }();
  return kAll;
}

Dfa texts_of_length(std::uint64_t least, std::uint64_t most, Compilation& compilation) {
  Dfa result = *all_texts();
  const std::uint64_t last = most < kMany ? most : least;
  if (least > most || !compilation.spend(last + 1)) return Dfa();
  result.table.resize(2);
  result.labels.resize(1);
  for (std::uint64_t length = 0; length <= last; ++length) {
    const bool ends = length == last;
    const State next = static_cast<State>(ends ? (most < kMany ? kDead : length + 1) : length + 2);
    result.table.insert(result.table.end(), {next, kDead});
    result.labels.push_back(length >= least ? 1 : 0);
  }
  return result;
}

Dfa dfa_of_words(std::span<const std::u32string> words, Label other, Compilation& compilation) {
  // A class for each character of a word, one for all others.
  std::vector<char32_t> characters;
  std::size_t size = 0;
  for (const std::u32string& word : words) size += word.size();
  if (!compilation.spend(size)) return Dfa();
  characters.reserve(size);
  for (const std::u32string& word : words) {
    characters.insert(characters.end(), word.begin(), word.end());
  }
  std::sort(characters.begin(), characters.end());
  characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
  std::vector<char32_t> begins;
  std::vector<std::uint32_t> classes;
  const auto add = [&](char32_t begin, std::uint32_t name) {
    if (!begins.empty() && begins.back() == begin) begins.pop_back(), classes.pop_back();
    begins.push_back(begin);
    classes.push_back(name);
  };
  std::vector<char32_t> ends = characters;
  add(0, 0);
  bool surrogates_done = false;
  const auto add_surrogates = [&](char32_t before) {
    if (surrogates_done || before < kSurrogates.first) return;
    surrogates_done = true;
    add(kSurrogates.first, 1);
    add(kSurrogates.last + 1, 0);
  };
  std::uint32_t name = 2;
  for (const char32_t c : characters) {
    add_surrogates(c);
    add(c, name++);
    if (c < kLastCharacter) add(c + 1, 0);
  }
  add_surrogates(kLastCharacter);

  Dfa result;
  set_pieces(result, std::move(begins), std::move(classes));
  if (!compilation.spend((size + 2) * result.classes)) return Dfa();
  const std::size_t width = result.classes;
  result.table.assign(width, kDead);
  const auto add_state = [&](State fallback) {
    result.table.resize(result.table.size() + width, fallback);
    result.table[result.table.size() - width + 1] = kDead;
    result.labels.push_back(fallback != kDead ? other : 0);
    return static_cast<State>(result.labels.size() - 1);
  };
  State rest = kDead;
  if (other != 0) {
    rest = add_state(1);
    rest = 1;
  }
  result.start = add_state(rest);
  for (std::size_t i = 0; i < words.size(); ++i) {
    State state = result.start;
    for (const char32_t c : words[i]) {
      const std::size_t at = state * width + result.class_of(c);
      if (result.table[at] == rest) {
        const State added = add_state(rest);
        result.table[at] = added;
      }
      state = result.table[at];
    }
    result.labels[state] = static_cast<Label>(i + 1);
  }
  if (words.empty() && other == 0) result.start = kDead;
  return result;
}

std::vector<std::uint32_t> distances_to_end(const Dfa& dfa) {
  std::vector<std::uint32_t> distance(dfa.states(), UINT32_MAX);
  std::vector<std::vector<State>> from(dfa.states());
  std::vector<State> todo;
  todo.reserve(dfa.states());
  for (State s = 1; s < dfa.states(); ++s) {
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      const State to = dfa.table[std::size_t{s} * dfa.classes + c];
      if (to != kDead && (from[to].empty() || from[to].back() != s)) from[to].push_back(s);
    }
    if (dfa.labels[s] == 0) continue;
    distance[s] = 0;
    todo.push_back(s);
  }
  for (std::size_t i = 0; i < todo.size(); ++i) {
    for (const State s : from[todo[i]]) {
      if (distance[s] != UINT32_MAX) continue;
      distance[s] = distance[todo[i]] + 1;
      todo.push_back(s);
    }
  }
  return distance;
}

std::vector<std::uint64_t> words_from(const Dfa& dfa, const std::vector<bool>& counts) {
  // Kahn's order of the reversed graph: a state is counted once all that follow it are; what is
  // left over is on a cycle or leads to one.
  const std::vector<std::uint64_t> sizes = class_sizes(dfa);
  const auto is_counted = [&](State s) {
    return dfa.labels[s] != 0 && dfa.labels[s] < counts.size() && counts[dfa.labels[s]];
  };
  Dfa marked = dfa;
  for (State s = 0; s < dfa.states(); ++s) marked.labels[s] = is_counted(s) ? 1 : 0;
  const std::vector<bool> alive = states_alive(marked);
  std::vector<std::uint64_t> words(dfa.states(), 0);
  std::vector<std::uint32_t> waits(dfa.states(), 0);
  std::vector<std::vector<std::pair<State, std::uint64_t>>> from(dfa.states());
  std::vector<State> todo;
  todo.reserve(dfa.states());
  for (State s = 1; s < dfa.states(); ++s) {
    if (!alive[s]) continue;
    words[s] = is_counted(s) ? 1 : 0;
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      const State to = dfa.table[std::size_t{s} * dfa.classes + c];
      if (!alive[to] || sizes[c] == 0) continue;
      from[to].emplace_back(s, sizes[c]);
      ++waits[s];
    }
    if (waits[s] == 0) todo.push_back(s);
  }
  for (std::size_t i = 0; i < todo.size(); ++i) {
    for (const auto& [s, size] : from[todo[i]]) {
      words[s] = capped_sum(words[s], capped_product(words[todo[i]], size));
      if (--waits[s] == 0) todo.push_back(s);
    }
  }
  for (State s = 1; s < dfa.states(); ++s) {
    if (alive[s] && waits[s] != 0) words[s] = kMany;
  }
  return words;
}

}  // namespace forge::grammar
