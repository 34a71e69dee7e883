// Raise, the exceptions of a rendering, and Budget, what it may still use.
//
// A template fails as Python code does, anywhere and through everything, and some filters look at
// how. So within a rendering failures are C++ exceptions; Template::render() makes values of them.
#pragma once

#include <cstdint>
#include <string>

#include "forge/chat/template.h"

namespace forge::chat::detail {

/// Python's exceptions, as far as something tells them apart.
enum class Exception : std::uint8_t {
  type,
  value,
  lookup,
  undefined,
  overflow,
  other,
  raised,  ///< raise_exception()
  limit,
};

struct Raise {
  Exception exception = Exception::other;
  std::string message;
  std::string construct;  ///< what was at work, if known
};

[[noreturn]] inline void raise(Exception exception, std::string message) {
  throw Raise{exception, std::move(message), ""};
}
[[noreturn]] inline void raise_type(std::string message) {
  raise(Exception::type, std::move(message));
}

/// Values, calls and data nest no deeper than this.
inline constexpr int kValueDepthMax = 200;

class Budget {
 public:
  explicit Budget(const RenderLimits& limits) : limits_(limits), left_(limits) {}

  /// `count` turns of a loop, elements or calls are next.
  void step(std::uint64_t count = 1) {
    if (count > left_.steps) exceeded("more than " + std::to_string(limits_.steps) + " steps");
    left_.steps -= count;
  }
  /// `bytes` are about to be allocated.
  void make(std::uint64_t bytes) {
    if (bytes > left_.made_bytes) {
      exceeded("texts and lists of more than " + std::to_string(limits_.made_bytes) +
               " bytes together");
    }
    left_.made_bytes -= bytes;
  }
  /// `count` times `bytes` are.
  void make(std::uint64_t count, std::uint64_t bytes) {
    make(bytes > 0 && count > UINT64_MAX / bytes ? UINT64_MAX : count * bytes);
  }
  /// The result has `bytes`.
  void check_output(std::uint64_t bytes) const {
    if (bytes <= limits_.output_bytes) return;
    exceeded("a result of more than " + std::to_string(limits_.output_bytes) + " bytes");
  }

 private:
  [[noreturn]] static void exceeded(const std::string& what) {
    raise(Exception::limit, "the template needs " + what);
  }

  RenderLimits limits_;
  RenderLimits left_;
};

}  // namespace forge::chat::detail
