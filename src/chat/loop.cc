#include "loop.h"

namespace forge::chat::detail {

std::optional<Value> Loop::advance() {
  std::optional<Value> element;
  if (has_peeked_) {
    element = std::move(peeked_);
    has_peeked_ = false;
    peeked_.reset();
  } else {
    element = elements.next();
  }
  if (!element) return std::nullopt;
  ++index0;
  before = std::move(current);
  current = *element;
  return element;
}

const std::optional<Value>& Loop::peek() {
  if (!has_peeked_) {
    peeked_ = elements.next();
    // At the end Python asks again each time, which gives the same.
    has_peeked_ = peeked_.has_value();
  }
  return peeked_;
}

std::int64_t Loop::length() {
  if (length_) return *length_;
  length_ = elements.length();
  if (!length_) {
    std::vector<Value> rest;
    while (auto element = elements.next()) rest.push_back(*std::move(element));
    length_ = static_cast<std::int64_t>(rest.size()) + index0 + 1 + (has_peeked_ ? 1 : 0);
    elements = Iteration(budget, make_list(budget, std::move(rest)));
  }
  return *length_;
}

std::string Loop::text() {
  return "<LoopContext " + std::to_string(index0 + 1) + "/" + std::to_string(length()) + ">";
}

Value Loop::attribute(std::string_view name) {
  if (name == "index") return Value(index0 + 1);
  if (name == "index0") return Value(index0);
  if (name == "first") return Value(index0 == 0);
  if (name == "last") return Value(!peek().has_value());
  if (name == "length") return Value(length());
  if (name == "revindex") return Value(length() - index0);
  if (name == "revindex0") return Value(length() - index0 - 1);
  if (name == "depth") return Value(std::int64_t{depth0 + 1});
  if (name == "depth0") return Value(std::int64_t{depth0});
  if (name == "previtem") {
    return index0 == 0 ? make_undefined("there is no previous item") : before;
  }
  if (name == "nextitem") {
    return peek() ? *peek() : make_undefined("there is no next item");
  }
  return Value::missing();
}

}  // namespace forge::chat::detail
