#include "mask_walk.h"

#include <algorithm>

namespace forge::grammar {
namespace {

/// What a byte costs outside of lexemes, in those inside of one.
constexpr std::uint64_t kStructureSteps = 16;

// A lexeme on the way down a trie; of a key that is bound, with its rule.
struct KeyPlace {
  Lexeme lexeme;
  KeyRule rule;
  Lexeme::Step step(unsigned char byte) { return lexeme.step(byte, rule); }
};
struct TextPlace {
  Lexeme lexeme;
  /// A string ends at its quote, short as it may be: whoever follows the exit knows how long it is.
  Lexeme::Step step(unsigned char byte) {
    if (byte == '"' && lexeme.may_close()) return Lexeme::Step::closed;
    KeyRule none;
    return lexeme.step(byte, none);
  }
};

/// What spares a walk its way down where the outcome is known.
struct Shortcuts {
  bool is_text = false;  ///< tokens are plain text: once whatever follows is fine, all below fit
  const FreeWalk* in_string = nullptr;  ///< of the same trie, for states that are free
};

/// The tokens below `node` and the exits there, of a lexeme in a free state.
void add_below(const Lexeme& lexeme, const Trie& trie, std::uint32_t node, const FreeWalk& known,
               TerminalWalk& found) {
  const auto tokens = trie.tokens_below(node);
  const auto first = static_cast<std::size_t>(tokens.data() - trie.tokens.data());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (known.fits[first + i]) found.tokens.push_back(tokens[i]);
  }
  auto exit = std::lower_bound(known.exits.begin(), known.exits.end(), node,
                               [](const auto& e, std::uint32_t n) { return e.node < n; });
  for (; exit != known.exits.end() && exit->node < trie.nodes[node].end; ++exit) {
    found.exits.push_back({exit->node, exit->characters, lexeme.label()});
  }
}

/// Tries the tokens below `node`; returns the steps that it took.
template <class Place>
std::uint64_t scan(const Place& start, const Trie& trie, std::uint32_t node, TerminalWalk& found,
                   const Shortcuts& shortcuts = {}) {
  const bool is_plain = start.lexeme.terminal().form == Terminal::Form::plain;
  const std::size_t base = trie.nodes[node].depth;
  std::vector<Place> path{start};
  if (is_plain && start.lexeme.accepts() && trie.nodes[node].may_separate) {
    found.exits.push_back({node, 0, 0});
  }
  const std::uint32_t end = trie.nodes[node].end;
  std::uint64_t steps = 0;
  for (std::uint32_t i = node + 1; i < end;) {
    const Trie::Node& at = trie.nodes[i];
    ++steps;
    const std::size_t depth = at.depth - base;
    if (path.size() <= depth) path.resize(depth + 1, start);
    const Place& before = path[depth - 1];
    if (before.lexeme.surely_refuses(at.byte)) {
      i = at.end;
      continue;
    }
    Place& place = path[depth];
    place = before;
    const Lexeme::Step step = place.step(at.byte);
    if (step == Lexeme::Step::goes_on) {
      if (shortcuts.is_text && place.lexeme.takes_text()) {
        const auto tokens = trie.tokens_below(i);
        found.tokens.insert(found.tokens.end(), tokens.begin(), tokens.end());
        i = at.end;
        continue;
      }
      if (shortcuts.in_string != nullptr && place.lexeme.is_free()) {
        add_below(place.lexeme, trie, i, *shortcuts.in_string, found);
        i = at.end;
        continue;
      }
      for (std::uint32_t k = 0; k < at.tokens; ++k) {
        found.tokens.push_back(trie.tokens[at.first_token + k]);
      }
      if (is_plain && at.may_separate && place.lexeme.accepts()) found.exits.push_back({i, 0, 0});
      ++i;
      continue;
    }
    if (step == Lexeme::Step::closed) {
      const Lexeme& closed = path[depth - 1].lexeme;
      const auto characters = static_cast<std::uint32_t>(closed.count() - start.lexeme.count());
      found.exits.push_back({i, characters, closed.label()});
    }
    i = at.end;
  }
  return steps;
}

/// The same of all tokens of plain text, from between two characters: faster, as it does not matter
/// how they are written.
std::uint64_t scan_text(const Terminal& terminal, State start, const Trie& trie,
                        TerminalWalk& found) {
  struct Place {
    State state = kDead;
    std::uint32_t value = 0;  ///< bits of a character that is on its way
    std::uint32_t missing = 0;
  };
  const Dfa& dfa = *terminal.dfa;
  std::vector<Place> path{{start, 0, 0}};
  std::uint64_t steps = 0;
  for (std::uint32_t i = 1; i < trie.nodes.size();) {
    const Trie::Node& at = trie.nodes[i];
    ++steps;
    if (path.size() <= at.depth) path.resize(at.depth + std::size_t{1});
    const Place& before = path[at.depth - std::size_t{1}];
    Place& place = path[at.depth];
    if (at.byte < 0x80) {
      place = {dfa.table[std::size_t{before.state} * dfa.classes + dfa.ascii_class[at.byte]], 0, 0};
    } else if (before.missing == 0) {
      const std::uint32_t missing = at.byte < 0xE0 ? 1 : at.byte < 0xF0 ? 2 : 3;
      place = {before.state, at.byte & (0x3FU >> missing), missing};
      ++i;
      continue;
    } else {
      place = {before.state, before.value << 6 | (at.byte & 0x3FU), before.missing - 1};
      if (place.missing > 0) {
        ++i;
        continue;
      }
      place.state = dfa.next(place.state, place.value);
    }
    if (place.state == kDead) {
      i = at.end;
      continue;
    }
    const bool takes_all = terminal.takes_text[place.state];
    const auto tokens = takes_all ? trie.tokens_below(i) : trie.tokens_of(i);
    found.tokens.insert(found.tokens.end(), tokens.begin(), tokens.end());
    i = takes_all ? at.end : i + 1;
  }
  return steps;
}

}  // namespace

FreeWalk walk_in_string(const Trie& trie) {
  TerminalWalk found;
  scan(TextPlace{Lexeme(*any_string_terminal())}, trie, 0, found);
  FreeWalk result;
  result.exits = std::move(found.exits);
  result.fits.reserve(trie.tokens.size());
  // Both in the order of the trie.
  std::size_t next = 0;
  for (const std::uint32_t token : trie.tokens) {
    const bool fits = next < found.tokens.size() && found.tokens[next] == token;
    result.fits.push_back(fits);
    next += fits ? 1 : 0;
  }
  return result;
}

bool MaskWalk::add(const Configuration& from) {
  const bool is_json = !from.lexeme && !stepper_.may_be_around(from.top);
  walk(from, is_json ? index_.structure : index_.all, 0);
  return steps_left_ > 0;
}

void MaskWalk::walk(const Configuration& from, const Trie& trie, std::uint32_t node) {
  if (!trie.has_children(node)) return;
  if (from.lexeme) {
    walk_lexeme(from, trie, node);
  } else {
    walk_structure(from, from.top.white, trie, node);
  }
}

void MaskWalk::walk_structure(const Configuration& from, WhiteSpace white, const Trie& trie,
                              std::uint32_t node) {
  std::vector<Configuration> next;
  const bool around = stepper_.may_be_around(from.top);
  const std::uint32_t end = trie.nodes[node].end;
  for (std::uint32_t child = node + 1; child < end; child = trie.nodes[child].end) {
    if (!spend(kStructureSteps)) return;
    const std::uint8_t byte = trie.nodes[child].byte;
    // There are many of white space, which changes nothing but itself.
    if (is_space(byte) && !around) {
      WhiteSpace more = white;
      if (!more.add(byte, from.top.depth)) continue;
      set_tokens(trie, child);
      if (trie.has_children(child)) walk_structure(from, more, trie, child);
      continue;
    }
    next.clear();
    stepper_.step_structure(from, byte, next);
    if (next.empty()) continue;
    set_tokens(trie, child);
    for (const Configuration& to : next) walk(to, trie, child);
  }
}

void MaskWalk::walk_lexeme(const Configuration& from, const Trie& trie, std::uint32_t node) {
  // Among seen keys, one that is being read is bound to differ in the end, if there is no end of
  // keys: then only its quote has to be looked at.
  const bool is_bound =
      from.rule.seen != nullptr &&
      (from.rule.required_only || !from.lexeme->terminal().endless[from.lexeme->state()]);
  const bool filter = from.rule.seen != nullptr && !is_bound && from.rule.begin < from.rule.end;
  if (node == 0 && !is_bound) {
    const auto found = walk_of_whole(from);
    const Lexeme& lexeme = *from.lexeme;
    if (found->takes_text) index_.add_text(lexeme.terminal().most - lexeme.count(), mask_);
    for (std::size_t i = 0; i < found->mask.size(); ++i) mask_[i] |= found->mask[i];
    for (const std::uint32_t token : found->tokens) set(token);
    follow_exits(from, *found, found->in_rest ? index_.rest : trie, node, filter);
    return;
  }
  TerminalWalk found;
  spend(is_bound ? scan(KeyPlace{*from.lexeme, from.rule}, trie, node, found)
                 : scan(TextPlace{*from.lexeme}, trie, node, found));
  for (const std::uint32_t token : found.tokens) set(token);
  follow_exits(from, found, trie, node, filter);
}

std::shared_ptr<const TerminalWalk> MaskWalk::walk_of_whole(const Configuration& from) {
  const Lexeme& lexeme = *from.lexeme;
  const Terminal& terminal = lexeme.terminal();
  WalkKey key{terminal.id, lexeme.partial(), kMany, lexeme.state()};
  if (terminal.most < kMany) {
    // Far from the bound, it makes no difference.
    const std::uint64_t left = terminal.most - lexeme.count();
    if (left < index_.token_bytes_max + terminal.distance_max) key.characters_left = left;
  }
  if (auto found = index_.cache.find(key)) return found;
  auto walk = std::make_shared<TerminalWalk>();
  const bool is_quoted = terminal.form == Terminal::Form::quoted;
  walk->takes_text = is_quoted && lexeme.is_idle() && terminal.takes_text[lexeme.state()] &&
                     (terminal.most == kMany || terminal.distance_max == 0);
  walk->in_rest = walk->takes_text || (is_quoted && key.characters_left == kMany);
  if (walk->in_rest && !walk->takes_text) {
    spend(lexeme.is_idle() ? scan_text(terminal, lexeme.state(), index_.text, *walk)
                           : scan(TextPlace{lexeme}, index_.text, 0, *walk, {.is_text = true}));
  }
  Shortcuts shortcuts;
  if (walk->in_rest && lexeme.is_idle() && key.characters_left == kMany) {
    shortcuts.in_string = &index_.rest_in_string;
  }
  spend(scan(TextPlace{lexeme}, walk->in_rest ? index_.rest : index_.all, 0, *walk, shortcuts));
  if (walk->tokens.size() > mask_.size()) {
    walk->mask.assign(mask_.size(), 0);
    for (const std::uint32_t token : walk->tokens) walk->mask[token / 32] |= 1U << token % 32;
    walk->tokens = {};
  }
  index_.cache.add(key, walk);
  return walk;
}

void MaskWalk::follow_exits(const Configuration& from, const TerminalWalk& found, const Trie& trie,
                            std::uint32_t node, bool filter) {
  if (from.top.kind == Frame::Kind::text) return;
  for (const TerminalWalk::Exit& exit : found.exits) {
    if (!spend(1)) return;
    follow_exit(from, exit, trie, node, filter);
  }
}

void MaskWalk::follow_exit(const Configuration& from, const TerminalWalk::Exit& exit,
                           const Trie& trie, std::uint32_t node, bool filter) {
  const Terminal& terminal = from.lexeme->terminal();
  if (terminal.form == Terminal::Form::plain) {
    walk_structure(stepper_.after_lexeme(from, 0, {}), {}, trie, exit.node);
    return;
  }
  if (from.lexeme->count() + exit.characters < terminal.least) return;
  const bool goes_on = trie.has_children(exit.node);
  std::u32string key;
  if (from.is_key && (filter || goes_on)) {
    // The key's last characters are on the way from `node`.
    key = from.key;
    Lexeme lexeme = *from.lexeme;
    KeyRule rule = filter ? from.rule : KeyRule();
    const std::uint32_t token = trie.tokens[trie.nodes[exit.node].first_token];
    const char* const bytes = index_.bytes.data() + index_.offsets[token];
    for (std::size_t i = trie.nodes[node].depth; i < trie.nodes[exit.node].depth; ++i) {
      const std::uint64_t before = lexeme.count();
      const auto step = lexeme.step(static_cast<unsigned char>(bytes[i]), rule);
      if (step == Lexeme::Step::dead) return;
      if (lexeme.count() > before) key += lexeme.last();
    }
  }
  set_tokens(trie, exit.node);
  if (goes_on) {
    walk_structure(stepper_.after_lexeme(from, exit.label, std::move(key)), {}, trie, exit.node);
  }
}

}  // namespace forge::grammar
