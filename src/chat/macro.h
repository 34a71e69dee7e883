// Macro: what {% macro %} defines and {% call %} passes on: a function with the variables around
// it.
#pragma once

#include <memory>
#include <string>

#include "interpreter.h"

namespace forge::chat::detail {

struct Macro : Object {
  const FunctionDef* def = nullptr;
  std::shared_ptr<Activation> around;

  const std::string& name() const { return def->name; }
};

}  // namespace forge::chat::detail
