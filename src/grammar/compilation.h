// What one compilation has left of its steps, and the first thing that went wrong in it.
//
// Functions of a compilation return a harmless value once it has failed, so that they can be
// written as if nothing could, and the fault is looked at once, at the end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "forge/grammar/grammar.h"

namespace forge::grammar {

struct SchemaValue;

class Compilation {
 public:
  explicit Compilation(const GrammarLimits& limits) : limits_(limits), left_(limits.steps_max) {}

  const GrammarLimits& limits() const { return limits_; }

  /// Counts `steps`. False if the compilation has failed, which this may be the reason for.
  bool spend(std::uint64_t steps) {
    if (failed()) return false;
    if (steps <= left_) {
      left_ -= steps;
      return true;
    }
    fail(
        {GrammarError::Kind::limit, "",
         "compiling takes more than the accepted " + std::to_string(limits_.steps_max) + " steps"});
    return false;
  }

  /// Keeps the first error.
  void fail(GrammarError error) {
    if (!failed_) error_ = std::move(error);
    failed_ = true;
  }
  bool failed() const { return failed_; }
  const GrammarError& error() const { return error_; }
  std::uint64_t steps_left() const { return left_; }

  /// The part of a schema that is being compiled, or was when the compilation failed; null: the
  /// whole.
  const SchemaValue* place() const { return place_; }

 private:
  friend class AtPlace;

  GrammarLimits limits_;
  std::uint64_t left_;
  bool failed_ = false;
  GrammarError error_;
  const SchemaValue* place_ = nullptr;
};

/// Within its life, `place` is being compiled.
class AtPlace {
 public:
  AtPlace(Compilation& compilation, const SchemaValue& place)
      : compilation_(compilation), before_(compilation.place_) {
    if (!compilation.failed()) compilation.place_ = &place;
  }
  ~AtPlace() {
    if (!compilation_.failed()) compilation_.place_ = before_;
  }
  AtPlace(const AtPlace&) = delete;
  AtPlace& operator=(const AtPlace&) = delete;

 private:
  Compilation& compilation_;
  const SchemaValue* before_;
};

}  // namespace forge::grammar
