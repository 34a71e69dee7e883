// What an Interpreter changes for a while and then sets back, however the while ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "interpreter.h"

namespace forge::chat::detail {

/// How deeply expressions, statements and calls are nested in each other at one moment. A level
/// takes below a kilobyte of the stack.
inline constexpr int kRunDepthMax = 2500;

class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& interpreter) : depth_(interpreter.depth_) {
    if (depth_ >= kRunDepthMax) raise(Exception::limit, "the template nests calls too deeply");
    ++depth_;
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& depth_;
};

/// What is written while it lives goes into a text.
class Interpreter::Capture {
 public:
  explicit Capture(Interpreter& interpreter)
      : interpreter_(interpreter), outer_(std::exchange(interpreter.out_, text_.get())) {}
  ~Capture() { interpreter_.out_ = outer_; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::string take() const { return std::move(*text_); }

 private:
  std::unique_ptr<std::string> text_ = std::make_unique<std::string>();
  Interpreter& interpreter_;
  std::string* outer_;
};

/// A new activation is the one at hand while it lives.
class Interpreter::Enter {
 public:
  Enter(Interpreter& interpreter, std::uint32_t slots, std::shared_ptr<Activation> parent)
      : interpreter_(interpreter) {
    if (interpreter.calls_ >= kValueDepthMax) {
      raise(Exception::limit,
            "the template nests calls deeper than " + std::to_string(kValueDepthMax));
    }
    interpreter.budget_.make(slots * sizeof(Value) + sizeof(Activation));
    auto activation = std::make_shared<Activation>();
    activation->slots.assign(slots, Value::missing());
    activation->parent = std::move(parent);
    outer_ = std::exchange(interpreter.activation_, std::move(activation));
    ++interpreter.calls_;
  }
  ~Enter() {
    // A macro that was defined within holds the activation that holds it.
    if (interpreter_.activation_.use_count() > 1) interpreter_.keep(interpreter_.activation_);
    interpreter_.activation_ = std::move(outer_);
    --interpreter_.calls_;
  }
  Enter(const Enter&) = delete;
  Enter& operator=(const Enter&) = delete;

 private:
  Interpreter& interpreter_;
  std::shared_ptr<Activation> outer_;
};

/// Names what is at work in the errors that it raises.
class Construct {
 public:
  Construct(const char* what, std::string_view name) : what_(what), name_(name) {}

  template <class Run>
  auto run(const Run& run) const {
    try {
      return run();
    } catch (Raise& raised) {
      if (raised.construct.empty() && raised.exception != Exception::raised) {
        raised.construct = std::string(what_) + " '" + std::string(name_) + "'";
      }
      throw;
    }
  }

 private:
  const char* what_;
  std::string_view name_;
};

/// namespace.name = value. Errors (raised): the name begins with "_".
void set_member(Budget& budget, Space& space, const std::string& name, const Value& value);

}  // namespace forge::chat::detail
