#include "fiber.h"

namespace forge::simt {

constinit thread_local Fiber* Fiber::entered = nullptr;

namespace {

namespace context = boost::context;

constexpr std::size_t kStackBytes = kSanitized ? 256 * 1024 : 64 * 1024;
constexpr std::size_t kCacheLine = 64;
constexpr int kColours = 32;

context::protected_fixedsize_stack stacks() {
  return context::protected_fixedsize_stack(kStackBytes);
}

}  // namespace

Fiber::Fiber(Body body, int index)
    : body_(body),
      top_gap_(static_cast<std::size_t>(index % kColours) * 2 * kCacheLine),
      stack_(stacks().allocate()) {
  restart();
}

Fiber::~Fiber() {
  if (stack_.sp == nullptr) return;
  // Whatever is mapped here next, the stack of a host thread for one, is not these frames.
  unpoison(static_cast<std::byte*>(stack_.sp) - stack_.size, stack_.size);
  auto allocator = stacks();
  allocator.deallocate(stack_);
}

void Fiber::restart() {
  auto* top = static_cast<std::byte*>(stack_.sp);
  sanitizers_.begin(top - stack_.size, stack_.size);
  context_ = context::detail::make_fcontext(top - top_gap_, stack_.size - top_gap_, &Fiber::begin);
}

void Fiber::begin(context::detail::transfer_t arrival) {
  Fiber& self = *entered;
  self.arrive(arrival);
  self.body_();
}

void Fiber::jump(Fiber& next) {
  sanitizers_.before_switch(next.sanitizers_);
  arrive(context::detail::jump_fcontext(next.context_, this));
}

void Fiber::arrive(context::detail::transfer_t arrival) {
  *detail::running.left = arrival.fctx;
  if constexpr (kSanitized) {
    sanitizers_.after_switch(static_cast<Fiber*>(arrival.data)->sanitizers_);
  }
}

}  // namespace forge::simt
