#include "closing.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "utf8.h"

namespace forge::grammar {
namespace {

using Kind = Frame::Kind;
using Phase = Frame::Phase;

/// A character of a class by which `dfa` goes on; of several one that is easy to read.
char32_t character_of(const Dfa& dfa, std::uint32_t wanted) {
  for (char32_t c = 'a'; c <= 'z'; ++c) {
    if (dfa.class_of(c) == wanted) return c;
  }
  for (char32_t c = ' '; c < 0x7F; ++c) {
    if (c != '"' && c != '\\' && dfa.class_of(c) == wanted) return c;
  }
  for (std::size_t i = 0; i < dfa.piece_begin.size(); ++i) {
    const CharSet piece = without_surrogates({{dfa.piece_begin[i], dfa.piece_last(i)}});
    if (dfa.piece_class[i] == wanted && !piece.empty()) return piece[0].first;
  }
  return 0;
}

/// Reads the bytes that make the character on its way to `c`, and returns them; empty: it cannot
/// be.
std::string completed(Lexeme& lexeme, KeyRule& rule, char32_t c) {
  const auto leads_to_c = [&](const Lexeme& next) {
    if (next.is_idle()) return next.last() == c;
    const auto ranges = next.ahead();
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const CharRange& range) { return range.first <= c && c <= range.last; });
  };
  std::string bytes;
  while (!lexeme.is_idle()) {
    const std::size_t before = bytes.size();
    for (unsigned byte = 0x20; byte < 0x100 && bytes.size() == before; ++byte) {
      Lexeme next = lexeme;
      KeyRule next_rule = rule;
      if (next.step(static_cast<unsigned char>(byte), next_rule) != Lexeme::Step::goes_on ||
          !leads_to_c(next)) {
        continue;
      }
      lexeme = next;
      rule = next_rule;
      bytes += static_cast<char>(byte);
    }
    if (bytes.size() == before) return {};
  }
  return bytes;
}

/// Characters that may come next, or that the one on its way may be; enough of them that every
/// state which one leads to is there, and where keys were seen also one that none of these has.
std::vector<char32_t> candidates(const Lexeme& lexeme, const KeyRule& rule) {
  const Dfa& dfa = *lexeme.terminal().dfa;
  std::vector<char32_t> characters;
  if (lexeme.is_idle()) {
    for (std::uint32_t c = 0; c < dfa.classes; ++c) characters.push_back(character_of(dfa, c));
  }
  for (const auto& [first, last] : lexeme.ahead()) {
    if (first > last) continue;
    for (std::size_t piece = dfa.piece_of(first);
         !lexeme.is_idle() && piece < dfa.piece_begin.size() && dfa.piece_begin[piece] <= last;
         ++piece) {
      characters.push_back(std::max(first, dfa.piece_begin[piece]));
    }
    if (rule.seen == nullptr) continue;
    for (std::size_t k = rule.begin; k < rule.end; ++k) {
      const std::u32string& key = *rule.seen->keys[k].text;
      if (key.size() <= rule.depth) continue;
      const char32_t c = key[rule.depth] + 1;
      if (first <= c && c <= last) characters.push_back(c);
    }
  }
  return characters;
}

/// Values of one key that are allowed: those with the most conditions, then the cheapest.
std::pair<ValueId, std::uint32_t> best_value(const ObjectNode::Rule& rule,
                                             const Grammar::Automaton& automaton,
                                             std::uint32_t missing) {
  const auto rank = [&](const std::pair<ValueId, std::uint32_t>& value) {
    return std::tuple(-__builtin_popcount(value.second & missing),
                      automaton.values[value.first].cost);
  };
  return *std::min_element(rule.values.begin(), rule.values.end(),
                           [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

}  // namespace

std::string Closing::run(Configuration from) {
  text_.clear();
  if (from.lexeme) end_lexeme(from);
  Frame frame = from.top;
  while (!is_full() && frame.kind != Kind::text) {
    end_frame(frame);
    if (frame.kind == Kind::document) break;
    frame = Frame(*frame.below);
  }
  return std::move(text_);
}

void Closing::add_character(char32_t c, Terminal::Form form) {
  if (form == Terminal::Form::quoted && (c < 0x20 || c == '"' || c == '\\')) {
    constexpr std::string_view kHex = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += static_cast<char>(c);
      return;
    }
    text_ += "\\u00";
    text_ += kHex[c >> 4];
    text_ += kHex[c & 15];
    return;
  }
  append_utf8(text_, c);
}

void Closing::add_rest(Lexeme lexeme) {
  const Terminal& terminal = lexeme.terminal();
  const Dfa& dfa = *terminal.dfa;
  State state = lexeme.state();
  std::uint64_t count = lexeme.count();
  while ((terminal.distance[state] > 0 || count < terminal.least) && !is_full()) {
    const std::uint32_t wanted = terminal.distance[state];
    for (std::uint32_t c = 0; c < dfa.classes; ++c) {
      const State next = dfa.table[std::size_t{state} * dfa.classes + c];
      if (next == kDead || (wanted > 0 && terminal.distance[next] + 1 != wanted)) continue;
      add_character(character_of(dfa, c), terminal.form);
      state = next;
      ++count;
      break;
    }
  }
}

void Closing::add_terminal(const Terminal& terminal) {
  const bool is_quoted = terminal.form == Terminal::Form::quoted;
  if (is_quoted) text_ += '"';
  add_rest(Lexeme(terminal));
  if (is_quoted && !is_full()) text_ += '"';
}

void Closing::end_lexeme(Configuration& at) {
  if (at.is_key) {
    end_key(at);
    return;
  }
  Lexeme lexeme = *at.lexeme;
  if (!lexeme.is_idle()) {  // what leads nearest to an end
    KeyRule none;
    std::string bytes;
    Lexeme best = lexeme;
    for (const char32_t c : candidates(lexeme, none)) {
      Lexeme next = lexeme;
      std::string more = completed(next, none, c);
      const auto& distance = next.terminal().distance;
      if (more.empty() || (!bytes.empty() && distance[next.state()] >= distance[best.state()])) {
        continue;
      }
      bytes = std::move(more);
      best = next;
    }
    text_ += bytes;
    lexeme = best;
  }
  add_rest(lexeme);
  if (lexeme.terminal().form == Terminal::Form::quoted && !is_full()) text_ += '"';
}

void Closing::end_key(Configuration& at) {
  Lexeme lexeme = *at.lexeme;
  const std::u32string rest = rest_of_key(stepper_.object_of(at.top), at.top, lexeme, at.rule);
  std::size_t written = 0;
  State state = lexeme.state();
  if (!lexeme.is_idle()) {
    KeyRule rule = at.rule;
    text_ += completed(lexeme, rule, rest[0]);
    written = 1;
  }
  for (std::size_t i = written; i < rest.size(); ++i) {
    add_character(rest[i], Terminal::Form::quoted);
  }
  text_ += '"';
  const Dfa& dfa = *lexeme.terminal().dfa;
  for (const char32_t c : rest) state = dfa.next(state, c);
  at = stepper_.after_lexeme(at, dfa.labels[state], at.key + rest);
}

/// Until the bracket that ends it.
void Closing::end_frame(Frame& frame) {
  if (frame.kind == Kind::document) {
    const Document& document = stepper_.document_of(frame);
    if (frame.phase == Phase::begin) {
      text_ += document.prefix.substr(frame.count);
      add_value(document.root);
    }
    if (!is_full()) text_ += document.suffix.substr(frame.suffix_count);
    return;
  }
  while (!is_full()) {
    if (frame.phase == Phase::after_key) {
      text_ += ':';
      frame.phase = Phase::after_colon;
    } else if (frame.phase == Phase::after_colon) {
      add_value_of_key(frame);
    } else if (frame.phase != Phase::after_comma && stepper_.may_close(frame)) {
      text_ += frame.kind == Kind::array ? ']' : '}';
      return;
    } else {
      if (frame.phase == Phase::after_value) text_ += ',';
      if (frame.kind == Kind::array) {
        add_next_item(frame);
      } else {
        add_key(frame);
      }
    }
  }
}

void Closing::add_next_item(Frame& frame) {
  const auto& states = stepper_.array_of(frame).states;
  const auto& values = stepper_.automaton().values;
  const auto& items = states[frame.count].items;
  const auto cost = [&](const auto& item) {
    return values[item.first].cost + states[item.second].cost;
  };
  const auto& best = *std::min_element(
      items.begin(), items.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  add_value(best.first);
  frame.count = best.second;
  frame.phase = Phase::after_value;
}

void Closing::add_key(Frame& frame) {
  Configuration at;
  at.top = frame;
  std::vector<Configuration> next;
  Frame before = frame;
  before.phase = Phase::after_comma;
  at.top = before;
  stepper_.step_structure(at, '"', next);
  text_ += '"';
  end_lexeme(next.front());
  frame = next.front().top;
}

void Closing::add_value_of_key(Frame& frame) {
  const ObjectNode& node = stepper_.object_of(frame);
  const auto [value, exists] =
      best_value(node.rules[frame.label - 1], stepper_.automaton(), node.exists & ~frame.exists);
  add_value(value);
  frame.exists |= exists;
  frame.phase = Phase::after_value;
}

void Closing::add_value(ValueId id) {
  if (is_full()) return;
  const ValueNode& node = stepper_.automaton().values[id];
  const auto cost = [](const Terminal* terminal, std::uint64_t around) {
    return std::max<std::uint64_t>(terminal->least, terminal->distance[terminal->dfa->start]) +
           around;
  };
  if (node.literal != nullptr && cost(node.literal, 0) == node.cost) {
    return add_terminal(*node.literal);
  }
  if (node.number != nullptr && cost(node.number, 0) == node.cost)
    return add_terminal(*node.number);
  if (node.string != nullptr && cost(node.string, 2) == node.cost)
    return add_terminal(*node.string);
  Frame best;
  std::uint64_t best_cost = kNever + 1;
  for (const std::uint32_t array : node.arrays) {
    const std::uint64_t array_cost = stepper_.automaton().arrays[array].states[0].cost;
    if (array_cost + 2 >= best_cost) continue;
    best_cost = array_cost + 2;
    best.kind = Kind::array;
    best.node = array;
  }
  for (const std::uint32_t object : node.objects) {
    const std::uint64_t object_cost = stepper_.automaton().objects[object].cost;
    if (object_cost >= best_cost) continue;
    best_cost = object_cost;
    best.kind = Kind::object;
    best.node = object;
  }
  text_ += best.kind == Kind::array ? '[' : '{';
  end_frame(best);
}

std::u32string Closing::rest_of_key(const ObjectNode& node, const Frame& frame,
                                    const Lexeme& lexeme, const KeyRule& rule) const {
  // Required keys first, then what fulfils a condition, then the cheapest value; a label that no
  // way leads to is passed over.
  const std::uint32_t missing = node.exists & ~frame.exists;
  const auto rank = [&](Label label) {
    const ObjectNode::Rule& of = node.rules[label - 1];
    const auto [value, exists] = best_value(of, stepper_.automaton(), missing);
    return std::tuple(!of.required, (exists & missing) == 0,
                      stepper_.automaton().values[value].cost);
  };
  using Place = std::tuple<State, std::size_t, std::size_t, std::size_t>;
  struct Step {
    Lexeme lexeme;
    KeyRule rule;
    std::size_t before;
    char32_t character;
  };
  std::vector<Step> steps{{lexeme, rule, 0, 0}};
  std::set<Place> visited;
  std::size_t best = 0;
  bool found = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step step = steps[i];
    KeyRule closing = step.rule;
    Lexeme closed = step.lexeme;
    if (closed.step('"', closing) == Lexeme::Step::closed &&
        (!found || rank(step.lexeme.label()) < rank(steps[best].lexeme.label()))) {
      best = i;
      found = true;
    }
    for (const char32_t c : candidates(step.lexeme, step.rule)) {
      Step next = step;
      const bool fits = step.lexeme.is_idle() ? next.lexeme.take(c, next.rule)
                                              : !completed(next.lexeme, next.rule, c).empty();
      if (!fits) continue;
      next.before = i;
      next.character = c;
      // Beyond what was seen, how it came there makes no difference.
      const bool is_fresh = next.rule.begin == next.rule.end;
      const Place place{next.lexeme.state(), next.rule.begin, next.rule.end,
                        is_fresh ? 0 : next.rule.depth};
      if (visited.insert(place).second) steps.push_back(next);
    }
  }
  std::u32string result;
  for (std::size_t i = best; i != 0; i = steps[i].before) result.insert(0, 1, steps[i].character);
  return result;
}

}  // namespace forge::grammar
