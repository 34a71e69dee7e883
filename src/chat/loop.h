// Loop: the variable `loop` of a {% for %}.
#pragma once

#include <optional>
#include <string>

#include "interpreter.h"

namespace forge::chat::detail {

struct Loop : Object {
  Loop(Budget& budget_in, const Value& source) : budget(budget_in), elements(budget_in, source) {}

  /// Goes on to the next element; nothing where there is none.
  std::optional<Value> advance();
  /// The next element, which the loop has not reached; nothing where there is none.
  const std::optional<Value>& peek();
  std::int64_t length();
  /// loop.name; missing where there is no such attribute.
  Value attribute(std::string_view name);
  std::string text();

  Budget& budget;
  Iteration elements;
  const Stmt* recursive = nullptr;  ///< the statement, if it may call itself
  std::shared_ptr<Activation> around;
  std::int64_t index0 = -1;
  int depth0 = 0;
  Value current = Value::missing();
  Value before = Value::missing();
  Value last_changed = Value::missing();

 private:
  bool has_peeked_ = false;
  std::optional<Value> peeked_;
  std::optional<std::int64_t> length_;
};

}  // namespace forge::chat::detail
