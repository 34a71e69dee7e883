// The keys of an object as one automaton, whose labels say what the value must be.
#include <algorithm>

#include "automaton_builder.h"

namespace forge::grammar {
namespace {

// While it is made, the label of a key that has a name of its own is the name's place + 1; that of
// others has this bit, and one for each pattern that matches.
constexpr Label kOther = Label{1} << 31;
constexpr std::size_t kPatternsMax = 24;

Label both_labels(Label words, Label patterns) {
  if (words == 0 || patterns == 0) return 0;
  return words == kOther ? patterns : words;
}
Label with_bits(Label all, Label pattern) { return all == 0 ? 0 : all | pattern; }

/// The keys of one object: which names and patterns say something of them.
class Keys {
 public:
  Keys(const ObjectShape& shape, Compilation& compilation)
      : shape_(shape), compilation_(compilation) {
    std::set<std::u32string> names = shape.required;
    for (const ObjectShape::Group& group : shape.groups) {
      for (const auto& [name, value] : group.names) names.insert(name);
      for (const auto& [pattern, value] : group.patterns) add_pattern(pattern);
    }
    names_.assign(names.begin(), names.end());
    for (const ObjectShape::Exists& exists : shape.exists) add_pattern(exists.keys);
    if (!shape.keys.is_none() && !shape.keys.is_all()) {
      allowed_ = shape.keys.automaton(compilation);
      add_pattern(allowed_);
    }
  }

  const std::vector<std::u32string>& names() const { return names_; }
  std::size_t patterns() const { return patterns_.size(); }

  /// The bits of the patterns that `name` matches.
  Label bits_of(const std::u32string& name) const {
    Label bits = 0;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const State state = state_after(*patterns_[i], name);
      if (patterns_[i]->labels[state] != 0) bits |= Label{1} << i;
    }
    return bits;
  }
  bool are_allowed(Label bits) const { return !shape_.keys.is_none() && has(bits, allowed_); }

  /// All that the groups say of a key's value.
  Term term_of(const std::u32string* name, Label bits) const {
    Term term;
    for (const ObjectShape::Group& group : shape_.groups) {
      bool is_additional = true;
      if (name != nullptr) {
        const auto found = group.names.find(*name);
        if (found != group.names.end()) {
          add_to(term, found->second);
          is_additional = false;
        }
      }
      for (const auto& [pattern, value] : group.patterns) {
        if (!has(bits, pattern)) continue;
        add_to(term, value);
        is_additional = false;
      }
      if (is_additional && group.additional) add_to(term, *group.additional);
    }
    return term;
  }
  bool is_of(const ObjectShape::Exists& exists, Label bits) const { return has(bits, exists.keys); }

  /// Labels as said above; `others` says of the bits of a key without a name whether it may be.
  Dfa automaton(bool others) const {
    Dfa words = dfa_of_words(names_, others ? kOther : 0, compilation_);
    if (patterns_.empty() || !others) return words;
    Dfa matches = *all_texts();
    matches.labels[matches.start] = kOther;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      Dfa pattern = *patterns_[i];
      for (Label& label : pattern.labels) label = label != 0 ? Label{1} << i : 0;
      matches = product(matches, pattern, with_bits, compilation_);
    }
    return product(words, matches, both_labels, compilation_);
  }

 private:
  void add_pattern(const DfaPtr& pattern) {
    if (std::find(patterns_.begin(), patterns_.end(), pattern) == patterns_.end()) {
      patterns_.push_back(pattern);
    }
  }
  bool has(Label bits, const DfaPtr& pattern) const {
    if (pattern == nullptr) return true;
    const auto place = std::find(patterns_.begin(), patterns_.end(), pattern);
    return (bits >> (place - patterns_.begin()) & 1U) != 0;
  }

  const ObjectShape& shape_;
  Compilation& compilation_;
  std::vector<std::u32string> names_;
  std::vector<DfaPtr> patterns_;
  DfaPtr allowed_;  ///< null: all keys
};

}  // namespace

bool AutomatonBuilder::is_within_limits(const ObjectShape& shape, std::size_t patterns) {
  if (patterns > kPatternsMax) {
    compilation_.fail({GrammarError::Kind::unsupported, "",
                       "an object with " + std::to_string(patterns) +
                           " patterns for its keys; accepted are up to 24"});
    return false;
  }
  constexpr std::size_t kExistsMax = 4;
  if (shape.exists.size() > kExistsMax) {
    sets_.refuse(*shape.exists[0].value.schema,
                 "more than 4 conditions on some values of one object are not supported");
    return false;
  }
  return true;
}

bool AutomatonBuilder::build_object(const ObjectShape& shape, ObjectNode& node) {
  const Keys keys(shape, compilation_);
  if (!is_within_limits(shape, keys.patterns())) return false;
  node.least = std::max<std::uint64_t>(shape.least, shape.required.size());
  node.most = shape.most;
  node.exists = (std::uint32_t{1} << shape.exists.size()) - 1;

  /// A rule for keys of these bits; the label, 0 where there can be no such key.
  const auto add_rule = [&](const std::u32string* name, Label bits) -> Label {
    if (!keys.are_allowed(bits)) return 0;
    const Term term = keys.term_of(name, bits);
    if (is_nothing(term)) return 0;
    ObjectNode::Rule rule;
    for (std::uint32_t chosen = 0; chosen < 1U << shape.exists.size(); ++chosen) {
      Term value = term;
      bool can_be = true;
      for (std::size_t i = 0; i < shape.exists.size(); ++i) {
        if ((chosen >> i & 1U) == 0) continue;
        can_be = can_be && keys.is_of(shape.exists[i], bits);
        add_to(value, shape.exists[i].value);
      }
      if (can_be && !is_nothing(value)) rule.values.emplace_back(id_of(std::move(value)), chosen);
    }
    rule.required = name != nullptr && shape.required.contains(*name);
    if (rule.required) rule.name = *name;
    node.rules.push_back(std::move(rule));
    return static_cast<Label>(node.rules.size());
  };

  std::vector<Label> label_of_name;
  label_of_name.reserve(keys.names().size());
  for (const std::u32string& name : keys.names()) {
    if (!compilation_.spend(1 + keys.patterns() * name.size())) return false;
    label_of_name.push_back(add_rule(&name, keys.bits_of(name)));
    if (label_of_name.back() == 0 && shape.required.contains(name)) return false;
  }
  node.required = shape.required.size();

  // Keys without a name are of no use where nothing is left for any of them.
  const bool others =
      !shape.keys.is_none() && (keys.patterns() > 0 || !is_nothing(keys.term_of(nullptr, 0)));
  Dfa dfa = keys.automaton(others);
  std::map<Label, Label> label_of_bits;
  for (Label& label : dfa.labels) {
    if (label == 0) continue;
    if ((label & kOther) == 0) {
      label = label_of_name[label - 1];
      continue;
    }
    const auto [place, is_new] = label_of_bits.try_emplace(label, 0);
    if (is_new) place->second = add_rule(nullptr, label & ~kOther);
    label = place->second;
  }
  dfa = trimmed(dfa, compilation_);
  node.keys.form = Terminal::Form::quoted;
  node.keys.dfa = std::make_shared<const Dfa>(std::move(dfa));
  if (node.exists != 0 && node.most < kMany) {
    sets_.refuse(
        *shape.exists[0].value.schema,
        "a condition on some value of an object, beside a bound on how many keys it has, is "
        "not supported");
  }
  return !compilation_.failed();
}

}  // namespace forge::grammar
