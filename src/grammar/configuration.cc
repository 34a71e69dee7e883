#include "configuration.h"

#include <algorithm>

namespace forge::grammar {
namespace {

using Kind = Frame::Kind;
using Phase = Frame::Phase;

const std::shared_ptr<const SeenKeys>& no_keys() {
  static const auto kNone = std::make_shared<const SeenKeys>();
  return kNone;
}

bool same_keys(const SeenKeys* a, const SeenKeys* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->keys.size() != b->keys.size()) return false;
  return std::equal(a->keys.begin(), a->keys.end(), b->keys.begin(),
                    [](const auto& x, const auto& y) { return *x.text == *y.text; });
}

}  // namespace

bool WhiteSpace::add(unsigned char byte, std::uint32_t depth) {
  if (byte == '\n' || byte == '\r') {
    if (line_ends == 0) blanks = 0;
    return line_ends++ < kLineEndsMax;
  }
  const std::uint32_t indent = line_ends > 0 ? kIndentMax * depth : 0;
  return blanks++ < std::max(kBlanksMax, indent);
}

Frame::~Frame() {
  while (below && below.use_count() == 1) {
    std::shared_ptr<const Frame> next = below->below;
    below = std::move(next);
  }
}

bool Frame::operator==(const Frame& other) const {
  const Frame* a = this;
  const Frame* b = &other;
  while (a != b) {
    if (a == nullptr || b == nullptr) return false;
    if (a->kind != b->kind || a->phase != b->phase || a->white != b->white || a->node != b->node ||
        a->count != b->count || a->suffix_count != b->suffix_count || a->exists != b->exists ||
        a->label != b->label || !same_keys(a->seen.get(), b->seen.get())) {
      return false;
    }
    a = a->below.get();
    b = b->below.get();
  }
  return true;
}

void Stepper::start(std::vector<Configuration>& to) const {
  if (automaton_.text != nullptr) {
    Configuration& text = to.emplace_back();
    text.lexeme.emplace(*automaton_.text);
    text.top.kind = Kind::text;
  }
  const std::size_t beginning = automaton_.documents.size() - automaton_.followers;
  for (std::uint32_t i = 0; i < beginning; ++i) to.emplace_back().top.node = i;
}

bool Stepper::can_end(const Configuration& at) const {
  if (at.lexeme && !at.lexeme->accepts()) return false;
  if (at.top.kind == Kind::text) return true;
  const bool is_value = !at.lexeme || at.lexeme->terminal().form == Terminal::Form::plain;
  return at.top.kind == Kind::document && at.top.phase == Phase::after_value && is_value &&
         at.top.suffix_count == document_of(at.top).suffix.size();
}

bool Stepper::goes_on(const Configuration& from, unsigned char byte) const {
  if (!from.lexeme) return false;
  Lexeme lexeme = *from.lexeme;
  KeyRule rule = from.rule;
  return lexeme.step(byte, rule) == Lexeme::Step::goes_on;
}

void Stepper::step(Configuration from, unsigned char byte, std::vector<Configuration>& to) const {
  if (!from.lexeme) {
    step_structure(from, byte, to);
    return;
  }
  Lexeme lexeme = *from.lexeme;
  KeyRule rule = from.rule;
  switch (lexeme.step(byte, rule)) {
    case Lexeme::Step::goes_on:
      if (from.is_key && lexeme.count() > from.lexeme->count()) from.key += lexeme.last();
      from.lexeme = lexeme;
      from.rule = rule;
      to.push_back(std::move(from));
      return;
    case Lexeme::Step::closed: {
      const Label label = from.lexeme->label();
      std::u32string key = std::move(from.key);
      to.push_back(after_lexeme(from, label, std::move(key)));
      return;
    }
    case Lexeme::Step::dead:
      break;
  }
  // Where a number ends is seen by what follows.
  if (from.lexeme->terminal().form == Terminal::Form::plain && from.lexeme->accepts() &&
      from.top.kind != Kind::text) {
    step_structure(after_lexeme(from, 0, {}), byte, to);
  }
}

Configuration Stepper::after_lexeme(const Configuration& from, Label label,
                                    std::u32string text) const {
  Configuration next;
  next.top = from.top;
  if (!from.is_key) return next;
  auto seen = std::make_shared<SeenKeys>(from.top.seen ? *from.top.seen : SeenKeys());
  const bool required = object_of(from.top).rules[label - 1].required;
  SeenKeys::Key key{std::make_shared<const std::u32string>(std::move(text)), required};
  const auto before = [](const SeenKeys::Key& a, const SeenKeys::Key& b) {
    return *a.text < *b.text;
  };
  seen->keys.insert(std::lower_bound(seen->keys.begin(), seen->keys.end(), key, before),
                    std::move(key));
  seen->required += required ? 1 : 0;
  next.top.seen = std::move(seen);
  next.top.label = label;
  ++next.top.count;
  next.top.phase = Phase::after_key;
  return next;
}

KeyRule Stepper::rule_of(const Frame& object) const {
  const ObjectNode& node = object_of(object);
  const SeenKeys& seen = object.seen ? *object.seen : *no_keys();
  KeyRule rule;
  rule.required_only =
      node.most < kMany && node.most - object.count <= node.required - seen.required;
  if (!object.seen && !rule.required_only) return rule;
  rule.seen = &seen;
  rule.end = seen.keys.size();
  return rule;
}

bool Stepper::another_key_fits(const Frame& object) const {
  const ObjectNode& node = object_of(object);
  if (node.keys.dfa->empty() || object.count >= node.most) return false;
  const State start = node.keys.dfa->start;
  const KeyRule rule = rule_of(object);
  if (rule.required_only) return object.seen ? object.seen->required < node.required : true;
  return node.keys.words[start] > object.count;
}

bool Stepper::may_close(const Frame& frame) const {
  if (frame.kind == Kind::array) return array_of(frame).states[frame.count].accepts;
  const ObjectNode& node = object_of(frame);
  const std::uint64_t required = frame.seen ? frame.seen->required : 0;
  return required == node.required && frame.count >= node.least && frame.exists == node.exists;
}

bool Stepper::may_be_around(const Frame& frame) const {
  if (frame.kind != Kind::document) return false;
  const Document& document = document_of(frame);
  return frame.phase == Phase::begin ? frame.count < document.prefix.size()
                                     : !document.suffix.empty() || document.joint.has_value();
}

void Stepper::start_followers(unsigned char byte, std::vector<Configuration>& to) const {
  const std::size_t count = automaton_.documents.size();
  for (std::size_t i = count - automaton_.followers; i < count; ++i) {
    Configuration next;
    next.top.node = static_cast<std::uint32_t>(i);
    step_structure(next, byte, to);
  }
}

/// What is read of the text around a document. True: the byte cannot be anything else.
bool Stepper::step_around(const Configuration& from, unsigned char byte,
                          std::vector<Configuration>& to) const {
  const Document& document = document_of(from.top);
  const bool is_before = from.top.phase == Phase::begin;
  const std::string& text = is_before ? document.prefix : document.suffix;
  const std::uint32_t read = is_before ? from.top.count : from.top.suffix_count;
  if (read < text.size() && static_cast<unsigned char>(text[read]) == byte) {
    Frame& next = to.emplace_back(from).top;
    ++(is_before ? next.count : next.suffix_count);
    next.white = {};
  }
  if (!is_before && document.joint == read) start_followers(byte, to);
  return is_before || read > 0;
}

void Stepper::step_structure(const Configuration& from, unsigned char byte,
                             std::vector<Configuration>& to) const {
  const Frame& top = from.top;
  if (may_be_around(top) && step_around(from, byte, to)) return;
  if (is_space(byte)) {
    WhiteSpace white = top.white;
    if (top.kind == Kind::text || !white.add(byte, top.depth)) return;
    to.push_back(from);
    to.back().top.white = white;
    return;
  }
  const bool is_object = top.kind == Kind::object;
  const unsigned char bracket = is_object ? '}' : ']';
  switch (top.phase) {
    case Phase::begin:
    case Phase::after_comma:
      if (is_object && byte == '"') start_key(top, to);
      if (!is_object) start_values(top, byte, to);
      if (top.phase == Phase::begin && top.kind != Kind::document && byte == bracket &&
          may_close(top)) {
        close(top, to);
      }
      return;
    case Phase::after_key:
      if (byte != ':') return;
      to.push_back(from);
      to.back().top.phase = Phase::after_colon;
      to.back().top.white = {};
      return;
    case Phase::after_colon:
      start_values(top, byte, to);
      return;
    case Phase::after_value:
      break;
  }
  if (top.kind == Kind::document) return;
  if (byte == bracket && may_close(top)) close(top, to);
  if (byte != ',') return;
  if (is_object ? another_key_fits(top) : !array_of(top).states[top.count].items.empty()) {
    to.push_back(from);
    to.back().top.phase = Phase::after_comma;
    to.back().top.white = {};
  }
}

void Stepper::start_values(const Frame& frame, unsigned char byte,
                           std::vector<Configuration>& to) const {
  Frame after = frame;
  after.phase = Phase::after_value;
  after.white = {};
  switch (frame.kind) {
    case Kind::document:
      start_value(after, document_of(frame).root, byte, to);
      break;
    case Kind::array:
      for (const auto& [value, next] : array_of(frame).states[frame.count].items) {
        after.count = next;
        start_value(after, value, byte, to);
      }
      break;
    case Kind::object:
      after.label = 0;
      for (const auto& [value, exists] : object_of(frame).rules[frame.label - 1].values) {
        after.exists = frame.exists | exists;
        start_value(after, value, byte, to);
      }
      break;
    case Kind::text:
      break;
  }
}

void Stepper::start_value(const Frame& frame, ValueId value, unsigned char byte,
                          std::vector<Configuration>& to) const {
  const ValueNode& node = automaton_.values[value];
  const auto start_lexeme = [&](const Terminal* terminal, bool reads_byte) {
    if (terminal == nullptr) return;
    Lexeme lexeme(*terminal);
    KeyRule none;
    if (reads_byte && lexeme.step(byte, none) == Lexeme::Step::dead) return;
    Configuration& next = to.emplace_back();
    next.lexeme = lexeme;
    next.top = frame;
  };
  const auto open = [&](const std::vector<std::uint32_t>& nodes, Kind kind) {
    if (nodes.empty()) return;
    const auto below = std::make_shared<const Frame>(frame);
    for (const std::uint32_t n : nodes) {
      Configuration& next = to.emplace_back();
      next.top.kind = kind;
      next.top.depth = frame.depth + 1;
      next.top.node = n;
      next.top.below = below;
    }
  };
  if (byte == '"') {
    start_lexeme(node.string, false);
  } else if (byte == '[') {
    open(node.arrays, Kind::array);
  } else if (byte == '{') {
    open(node.objects, Kind::object);
  } else if (byte == '-' || (byte >= '0' && byte <= '9')) {
    start_lexeme(node.number, true);
  } else {
    start_lexeme(node.literal, true);
  }
}

void Stepper::start_key(const Frame& frame, std::vector<Configuration>& to) const {
  if (!another_key_fits(frame)) return;
  Configuration& next = to.emplace_back();
  next.top = frame;
  next.top.white = {};
  if (!next.top.seen) next.top.seen = no_keys();
  next.is_key = true;
  next.lexeme.emplace(object_of(frame).keys);
  next.rule = rule_of(frame);
}

void Stepper::close(const Frame& frame, std::vector<Configuration>& to) const {
  Configuration& next = to.emplace_back();
  next.top = *frame.below;
}

}  // namespace forge::grammar
