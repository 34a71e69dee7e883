// Fiber: a stack and a place to go on at. switch_to() is the whole cost of a meeting of threads,
// some nanoseconds, so it is inline and does nothing but jump (Boost.Context).
//
// Stacks end in a page that faults. Their tops are spread over the cache's sets: at equal
// offsets, 32 lanes would take turns to evict each other.
//
// Thread contract: a fiber runs on the host thread that made it.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>

#include "fiber_sanitizers.h"

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

  /// Suspends this fiber, which must be the running one, until another switches back.
  void switch_to(Fiber& next) {
    next_ = &next;
    sanitizers_.before_switch(next.sanitizers_);
    arrive(boost::context::detail::jump_fcontext(next.context_, this));
  }

  /// Forgets where a suspended fiber was: it begins anew. Nothing on its stack is destroyed.
  void restart();

 private:
  static void begin(boost::context::detail::transfer_t arrival);
  /// Who switched to this fiber goes on where it has stopped.
  void arrive(boost::context::detail::transfer_t arrival) {
    auto* from = static_cast<Fiber*>(arrival.data);
    from->context_ = arrival.fctx;
    sanitizers_.after_switch(from->sanitizers_);
  }

  boost::context::detail::fcontext_t context_ = nullptr;
  Fiber* next_ = nullptr;
  Body body_ = nullptr;
  std::size_t top_gap_ = 0;  ///< unused bytes above the first frame
  boost::context::stack_context stack_;
  FiberSanitizers sanitizers_;
};

}  // namespace forge::simt
