// Fiber: a stack and a place to go on at, over Boost.Context. A switch takes some nanoseconds; the
// jump itself is in meeting.h, which says why.
//
// Stacks end in a page that faults. Their tops are spread over the cache's sets: at equal
// offsets, 32 lanes would take turns to evict each other.
//
// Thread contract: a fiber runs on the host thread that made it.
#pragma once

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>

#include "fiber_sanitizers.h"
#include "forge/simt/meeting.h"

namespace forge::simt {

class Fiber {
 public:
  using Body = void (*)();

  /// Stands for the stack of the host thread itself.
  Fiber() = default;
  /// Begins with `body`, which must not return. `index` spreads stacks over the cache.
  Fiber(Body body, int index);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Suspends this fiber, the running one, until another switches back.
  void switch_to(Fiber& next) { detail::go_on(leave_for(next)); }

  /// Does what switch_to does, except for the jump: returns where the caller has to jump to. Under
  /// a sanitizer it jumps itself and returns null.
  detail::Context leave_for(Fiber& next) {
    detail::running.left = &context_;
    entered = &next;
    if constexpr (!kSanitized) return next.context_;
    jump(next);
    return nullptr;
  }

  /// Forgets where a suspended fiber was: it begins anew. Nothing on its stack is destroyed.
  void restart();

 private:
  static void begin(boost::context::detail::transfer_t arrival);
  void jump(Fiber& next);
  void arrive(boost::context::detail::transfer_t arrival);

  static constinit thread_local Fiber* entered;  ///< the last one switched to

  detail::Context context_ = nullptr;
  Body body_ = nullptr;
  std::size_t top_gap_ = 0;  ///< unused bytes above the first frame
  boost::context::stack_context stack_;
  FiberSanitizers sanitizers_;
};

}  // namespace forge::simt
