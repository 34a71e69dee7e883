#include "regex.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "forge/core/quoted.h"
#include "regex_tree.h"

namespace forge::grammar {
namespace {

using Kind = RegexNode::Kind;

/// Thompson's construction: a state reads a character of `set` and goes to `next`, or goes to
/// `next` and `other` without reading.
struct NfaState {
  enum class Kind : std::uint8_t { reads, splits, begins, ends, accepts };
  Kind kind = Kind::accepts;
  std::uint32_t set = 0;
  std::uint32_t next = 0;
  std::uint32_t other = 0;
};

class Nfa {
 public:
  Nfa(const RegexTree& tree, RegexMatch match, Compilation& compilation)
      : tree_(tree), compilation_(compilation) {
    const std::uint32_t accept = add({NfaState::Kind::accepts, 0, 0, 0});
    const std::uint32_t any = set_of(complement_of({}));
    std::uint32_t after = accept;
    if (match == RegexMatch::anywhere) after = add_loop(any, accept);
    found_ = after;
    start_ = build(tree.root, after);
    if (match == RegexMatch::anywhere) start_ = add_loop(any, start_);
  }

  const std::vector<NfaState>& states() const { return states_; }
  const std::vector<CharSet>& sets() const { return sets_; }
  std::uint32_t start() const { return start_; }
  /// Once here, whatever follows is accepted, if the match may be anywhere.
  std::uint32_t found() const { return found_; }

 private:
  using StateKind = NfaState::Kind;

  std::uint32_t add(NfaState state) {
    compilation_.spend(1);
    states_.push_back(state);
    return static_cast<std::uint32_t>(states_.size() - 1);
  }
  /// Any number of characters of `set`, then `next`.
  std::uint32_t add_loop(std::uint32_t set, std::uint32_t next) {
    const std::uint32_t split = add({StateKind::splits, 0, next, next});
    const std::uint32_t reads = add({StateKind::reads, set, split, 0});
    states_[split].other = reads;
    return split;
  }
  std::uint32_t set_of(const CharSet& set) {
    const auto [place, is_new] =
        set_names_.try_emplace(set, static_cast<std::uint32_t>(sets_.size()));
    if (is_new) sets_.push_back(set);
    return place->second;
  }

  /// The state from which `node` is read, and then `next`.
  std::uint32_t build(std::size_t node, std::uint32_t next) {
    const RegexNode& what = tree_.nodes[node];
    if (compilation_.failed()) return next;
    switch (what.kind) {
      case Kind::set:
        return add({StateKind::reads, set_of(what.set), next, 0});
      case Kind::begin:
        return add({StateKind::begins, 0, next, 0});
      case Kind::end:
        return add({StateKind::ends, 0, next, 0});
      case Kind::sequence:
        for (std::size_t i = what.parts.size(); i > 0; --i) next = build(what.parts[i - 1], next);
        return next;
      case Kind::choice: {
        std::uint32_t first = build(what.parts[0], next);
        for (std::size_t i = 1; i < what.parts.size(); ++i) {
          const std::uint32_t other = build(what.parts[i], next);
          first = add({StateKind::splits, 0, first, other});
        }
        return first;
      }
      case Kind::repeat:
        break;
    }
    return build_repeat(what, next);
  }

  std::uint32_t build_repeat(const RegexNode& what, std::uint32_t next) {
    std::uint32_t first = next;
    if (what.most == kNoLimit) {
      const std::uint32_t split = add({StateKind::splits, 0, next, next});
      const std::uint32_t body = build(what.parts[0], split);
      states_[split].other = body;
      first = split;
    } else {
      for (std::uint32_t i = what.least; i < what.most && !compilation_.failed(); ++i) {
        const std::uint32_t body = build(what.parts[0], first);
        first = add({StateKind::splits, 0, body, next});
      }
    }
    for (std::uint32_t i = 0; i < what.least && !compilation_.failed(); ++i) {
      compilation_.spend(1);
      first = build(what.parts[0], first);
    }
    return first;
  }

  const RegexTree& tree_;
  Compilation& compilation_;
  std::vector<NfaState> states_;
  std::vector<CharSet> sets_;
  std::map<CharSet, std::uint32_t> set_names_;
  std::uint32_t start_ = 0;
  std::uint32_t found_ = 0;
};

/// The subset construction: a state of the result is a set of states that read or accept.
class Determinizer {
 public:
  Determinizer(const Nfa& nfa, RegexMatch match, Compilation& compilation)
      : nfa_(nfa),
        anywhere_(match == RegexMatch::anywhere),
        compilation_(compilation),
        visited_(nfa.states().size(), 0) {}

  Dfa run() {
    make_classes();
    dfa_.table.assign(dfa_.classes, kDead);
    subsets_.emplace_back();
    dfa_.start = name_of({nfa_.start()}, true);
    for (std::size_t s = 1; s < subsets_.size() && !compilation_.failed(); ++s) expand(s);
    return compilation_.failed() ? Dfa() : trimmed(dfa_, compilation_);
  }

 private:
  using Subset = std::vector<std::uint32_t>;
  using StateKind = NfaState::Kind;

  struct SubsetHash {
    std::size_t operator()(const Subset& subset) const {
      std::uint64_t hash = subset.size();
      for (const std::uint32_t s : subset) hash = (hash ^ s) * 0x9E3779B97F4A7C15U + (hash >> 29);
      return hash;
    }
  };

  /// Characters that are in the same sets share a class.
  void make_classes() {
    std::vector<char32_t> begins{0};
    for (const CharSet& set : nfa_.sets()) {
      for (const CharRange& range : set) {
        begins.push_back(range.first);
        if (range.last < kLastCharacter) begins.push_back(range.last + 1);
      }
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    if (!compilation_.spend(begins.size() * nfa_.sets().size())) return;
    std::vector<std::vector<bool>> members(begins.size(),
                                           std::vector<bool>(nfa_.sets().size(), false));
    for (std::size_t i = 0; i < nfa_.sets().size(); ++i) {
      for (const CharRange& range : nfa_.sets()[i]) {
        auto piece = std::lower_bound(begins.begin(), begins.end(), range.first);
        for (; piece != begins.end() && *piece <= range.last; ++piece) {
          members[static_cast<std::size_t>(piece - begins.begin())][i] = true;
        }
      }
    }
    std::map<std::vector<bool>, std::uint32_t> names;
    std::vector<std::uint32_t> classes;
    classes.reserve(begins.size());
    for (const auto& member : members) {
      classes.push_back(
          names.try_emplace(member, static_cast<std::uint32_t>(names.size())).first->second);
    }
    set_pieces(dfa_, std::move(begins), std::move(classes));
    sets_of_class_.resize(names.size());
    for (const auto& [member, name] : names) sets_of_class_[name] = member;
  }

  /// The states that `from` reaches without reading; whether the text may end there.
  Subset closure(const Subset& from, bool at_begin, bool& accepts) {
    ++round_;
    Subset result;
    // States reached through "$" can only accept; these are 1 in the pair.
    std::vector<std::pair<std::uint32_t, bool>> todo;
    for (const std::uint32_t s : from) todo.emplace_back(s, false);
    std::vector<bool> seen_at_end;
    while (!todo.empty()) {
      const auto [s, at_end] = todo.back();
      todo.pop_back();
      if (at_end) {
        if (seen_at_end.empty()) seen_at_end.resize(visited_.size(), false);
        if (seen_at_end[s]) continue;
        seen_at_end[s] = true;
      } else {
        if (visited_[s] == round_) continue;
        visited_[s] = round_;
      }
      if (!compilation_.spend(1)) return {};
      const NfaState& state = nfa_.states()[s];
      switch (state.kind) {
        case StateKind::reads:
          if (!at_end) result.push_back(s);
          break;
        case StateKind::splits:
          todo.emplace_back(state.next, at_end);
          todo.emplace_back(state.other, at_end);
          break;
        case StateKind::begins:
          if (at_begin) todo.emplace_back(state.next, at_end);
          break;
        case StateKind::ends:
          todo.emplace_back(state.next, true);
          break;
        case StateKind::accepts:
          accepts = true;
          break;
      }
    }
    if (anywhere_ && visited_[nfa_.found()] == round_) result = {kEverything};
    std::sort(result.begin(), result.end());
    return result;
  }

  State name_of(const Subset& from, bool at_begin) {
    bool accepts = false;
    const Subset subset = closure(from, at_begin, accepts);
    if (subset.empty() && !accepts) return kDead;
    const auto [place, is_new] =
        names_.try_emplace({subset, accepts}, static_cast<State>(subsets_.size()));
    if (is_new) {
      subsets_.push_back(subset);
      dfa_.labels.push_back(accepts ? 1 : 0);
      dfa_.table.resize(dfa_.table.size() + dfa_.classes, kDead);
    }
    return place->second;
  }

  void expand(std::size_t s) {
    const Subset subset = subsets_[s];  // a copy: subsets_ grows
    for (std::uint32_t c = 0; c < dfa_.classes; ++c) {
      const std::vector<bool>& sets = sets_of_class_[c];
      if (!compilation_.spend(subset.size() + 1)) return;
      if (subset == Subset{kEverything}) {
        const bool is_character = std::find(sets.begin(), sets.end(), true) != sets.end();
        dfa_.table[s * dfa_.classes + c] = is_character ? static_cast<State>(s) : kDead;
        continue;
      }
      Subset next;
      for (const std::uint32_t state : subset) {
        if (sets[nfa_.states()[state].set]) next.push_back(nfa_.states()[state].next);
      }
      if (next.empty()) continue;
      const State to = name_of(next, false);
      dfa_.table[s * dfa_.classes + c] = to;
    }
  }

  static constexpr std::uint32_t kEverything = UINT32_MAX;

  struct NameHash {
    std::size_t operator()(const std::pair<Subset, bool>& name) const {
      return SubsetHash()(name.first) * 2 + (name.second ? 1 : 0);
    }
  };

  const Nfa& nfa_;
  bool anywhere_;
  Compilation& compilation_;
  Dfa dfa_;
  std::vector<std::vector<bool>> sets_of_class_;
  std::vector<Subset> subsets_;
  std::unordered_map<std::pair<Subset, bool>, State, NameHash> names_;
  std::vector<std::uint32_t> visited_;
  std::uint32_t round_ = 0;
};

}  // namespace

Dfa dfa_of_regex(std::string_view pattern, RegexMatch match, const std::string& where,
                 Compilation& compilation) {
  if (compilation.failed()) return Dfa();
  if (!compilation.spend(pattern.size())) return Dfa();
  const RegexTree tree = parse_regex(pattern);
  if (!tree.fault.empty()) {
    compilation.fail({GrammarError::Kind::unsupported, where,
                      "the regular expression " + in_quotes(pattern) + " has " + tree.fault});
    return Dfa();
  }
  const Nfa nfa(tree, match, compilation);
  if (compilation.failed()) return Dfa();
  return Determinizer(nfa, match, compilation).run();
}

}  // namespace forge::grammar
