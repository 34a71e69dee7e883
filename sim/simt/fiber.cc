#include "fiber.h"

#include <mutex>
#include <vector>

namespace forge::simt {

constinit thread_local Fiber* Fiber::entered = nullptr;

namespace {

namespace context = boost::context;

constexpr std::size_t kStackBytes = kSanitized ? 256 * 1024 : 64 * 1024;
constexpr std::size_t kCacheLine = 64;
constexpr int kColours = 32;

/// The stacks of all threads. Those given back serve again, since to map one and to unmap it takes
/// longer than many a block: they are kept until the process ends.
class Stacks {
 public:
  context::stack_context take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const context::stack_context stack = idle_.back();
        idle_.pop_back();
        return stack;
      }
    }
    return context::protected_fixedsize_stack(kStackBytes).allocate();
  }
  void give_back(const context::stack_context& stack) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(stack);
  }

 private:
  std::mutex mutex_;
  std::vector<context::stack_context> idle_;
};

Stacks& stacks() {
  static auto* const kAll = new Stacks;  // outlives every fiber
  return *kAll;
}

}  // namespace

Fiber::Fiber(Body body, int index)
    : body_(body),
      top_gap_(static_cast<std::size_t>(index % kColours) * 2 * kCacheLine),
      stack_(stacks().take()) {
  restart();
}

Fiber::~Fiber() {
  if (stack_.sp == nullptr) return;
  // Whoever has this stack next does not have these frames.
  unpoison(static_cast<std::byte*>(stack_.sp) - stack_.size, stack_.size);
  stacks().give_back(stack_);
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
