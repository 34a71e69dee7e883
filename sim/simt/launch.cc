#include "launch.h"

#include <limits>
#include <numeric>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/heartbeat.h"
#include "random.h"

namespace forge::simt {

Launch::Launch(const LaunchInput& input, Observer* observer)
    : input_(input), observer_(observer), end_(input.shape.blocks()) {
  // Observed blocks are handed back in ascending order, so those that run early would pile up.
  if (!input.seed.has_value() || observer != nullptr) return;
  FORGE_CHECK(blocks() <= std::numeric_limits<std::uint32_t>::max(), "blocks=", blocks());
  order_.resize(static_cast<std::size_t>(blocks()));
  std::iota(order_.begin(), order_.end(), 0u);
  Random random(*input.seed);
  for (auto i = static_cast<std::uint32_t>(order_.size()) - 1; i > 0; --i) {
    std::swap(order_[i], order_[random.below(i + 1)]);
  }
}

void Launch::run_blocks(BlockRunner& runner) {
  for (;;) {
    const long long position = next_.fetch_add(1, std::memory_order_relaxed);
    if (position >= blocks()) return;
    const long long block = order_.empty() ? position : order_[static_cast<std::size_t>(position)];
    if (block < end_.load(std::memory_order_relaxed)) run_block(runner, block);
  }
}

void Launch::run_block(BlockRunner& runner, long long block) {
  if (input_.heartbeat != nullptr) input_.heartbeat->beat();
  std::unique_ptr<BlockObserver> observer;
  if (observer_ != nullptr) observer = observer_->begin_block(input_.shape, block);
  std::optional<KernelFault> fault = runner.run(input_, block, observer.get());
  if (fault.has_value()) {
    const std::lock_guard lock(mutex_);
    note_fault(block, std::move(*fault));
  } else if (observer_ != nullptr) {
    hand_back(block, std::move(observer));
  }
}

void Launch::note_fault(long long block, KernelFault fault) {
  if (block >= end_.load(std::memory_order_relaxed)) return;
  end_.store(block, std::memory_order_relaxed);
  fault.kernel = input_.kernel;
  fault.block = input_.shape.index_of(block);
  fault.seed = input_.seed;
  fault_ = std::move(fault);
}

void Launch::hand_back(long long block, std::unique_ptr<BlockObserver> observer) {
  const std::lock_guard lock(mutex_);
  done_.emplace(block, std::move(observer));
  while (!done_.empty() && done_.begin()->first == handed_back_) {
    const auto next = done_.extract(done_.begin());
    if (handed_back_ >= end_.load(std::memory_order_relaxed)) return;
    try {
      observer_->end_block(next.key(), std::move(next.mapped()));
    } catch (KernelFault& fault) {
      note_fault(next.key(), std::move(fault));
    }
    ++handed_back_;
  }
}

}  // namespace forge::simt
