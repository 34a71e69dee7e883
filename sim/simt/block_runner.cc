#include "block_runner.h"

#include <limits>
#include <span>
#include <utility>

#include "divergence.h"
#include "matrix_unit.h"

namespace forge::simt {

constinit thread_local detail::Running detail::running;

namespace {

constinit thread_local BlockRunner* active_runner = nullptr;

std::size_t running_lane() { return static_cast<std::size_t>(detail::running.thread) % kWarpSize; }

/// The tree of numerics::tree_sum, and that of warp_max in dialect_cuda.cuh. Lane 0 of a butterfly.
float tree_of(std::array<float, kWarpSize>& part, Collective kind) {
  for (std::size_t distance = kWarpSize / 2; distance > 0; distance /= 2) {
    for (std::size_t i = 0; i < distance; ++i) {
      const float a = part[i];
      const float b = part[i + distance];
      part[i] = kind == Collective::warp_sum ? a + b : b > a ? b : a;
    }
  }
  return kind == Collective::warp_sum ? part[0] : part[0] + 0.0f;
}

}  // namespace

BlockRunner::BlockRunner() = default;

BlockRunner& BlockRunner::active() { return *active_runner; }

std::optional<KernelFault> BlockRunner::run(const LaunchInput& launch, long long block,
                                            BlockObserver* observer) {
  active_runner = this;
  observer_ = observer;
  reset(launch, block);
  select();
  thread_->fiber = &idle_fiber();
  main_.switch_to(*thread_->fiber);
  if (observer_ != nullptr) finish_observer();
  if (!fault_.has_value()) return std::nullopt;

  // Fibers that were stopped on their way are of no use to the next block.
  idle_.clear();
  for (auto& fiber : fibers_) {
    fiber->restart();
    idle_.push_back(fiber.get());
  }
  return std::exchange(fault_, std::nullopt);
}

void BlockRunner::finish_observer() {
  try {
    observer_->finished();
  } catch (KernelFault& fault) {
    fault_ = std::move(fault);
  }
}

void BlockRunner::reset(const LaunchInput& launch, long long block) {
  launch_ = launch;
  detail::running = {.thread = 0,
                     .threads = launch.shape.threads,
                     .block = launch.shape.index_of(block),
                     .grid = launch.shape.grid,
                     .shared = arena_.data(),
                     .observer = observer_};
  left_out_line_ = launch.left_out.has_value() ? launch.left_out->line : -1;
  live_ = launch.shape.threads;
  threads_.assign(static_cast<std::size_t>(live_), ThreadState{});
  copies_.clear();
  arena_.clear(launch.shape.shared_bytes);
  arrived_ = 0;
  mixed_ = false;
  const int warps = live_ / kWarpSize;
  for (int w = 0; w < warps; ++w) {
    Warp& warp = warps_[static_cast<std::size_t>(w)];
    warp.begin = w * kWarpSize;
    warp.arrived = 0;
    warp.mixed = false;
    warp.lanes.reset(kWarpSize);
  }
  ready_warps_.reset(warps);
  draw_priorities(block);
  warp_ = &warps_[static_cast<std::size_t>(ready_warps_.first())];
}

// ---- Order --------------------------------------------------------------------------------------

void BlockRunner::draw_priorities(long long block) {
  steps_to_change_ = std::numeric_limits<std::int64_t>::max();
  if (!launch_.seed.has_value()) return;
  random_ = Random(*launch_.seed);
  random_ = Random(random_.next() + static_cast<std::uint64_t>(block));
  ready_warps_.shuffle(random_);
  for (int w = 0; w < live_ / kWarpSize; ++w) {
    warps_[static_cast<std::size_t>(w)].lanes.shuffle(random_);
  }
  draw_change();
}

/// Gaps between changes are of every order of magnitude: how long a kernel is, is not known.
void BlockRunner::draw_change() {
  constexpr std::uint32_t kMagnitudes = 14;
  steps_to_change_ = 1 + random_.below(1u << random_.below(kMagnitudes));
}

/// Whoever would go next is overtaken by all others: its warp, or within the warp the lane.
void BlockRunner::change_priorities() {
  draw_change();
  if (random_.below(2) == 0) {
    ready_warps_.demote_first();
  } else {
    warp_->lanes.demote_first();
  }
  warp_ = &warps_[static_cast<std::size_t>(ready_warps_.first())];
}

/// Invariant: the running thread is the first ready lane of the first ready warp.
void BlockRunner::select() {
  if (warp_->lanes.empty()) {
    ready_warps_.remove_first();
    if (ready_warps_.empty()) stop(explain_deadlock(threads_));
    warp_ = &warps_[static_cast<std::size_t>(ready_warps_.first())];
  }
  if (--steps_to_change_ == 0) change_priorities();
  detail::running.thread = warp_->begin + warp_->lanes.first();
  thread_ = &threads_[static_cast<std::size_t>(detail::running.thread)];
}

// ---- Fibers -------------------------------------------------------------------------------------

void BlockRunner::fiber_body() {
  BlockRunner& runner = active();
  for (;;) {
    runner.run_thread();
    runner.finish_thread();
  }
}

void BlockRunner::run_thread() {
  try {
    launch_.entry(launch_.args);
    if (observer_ != nullptr) check_copies_of_thread();
    return;
  } catch (KernelFault& fault) {
    fault_ = std::move(fault);
  }
  thread_->fiber->switch_to(main_);
}

/// Returns when this fiber has another thread to run.
void BlockRunner::finish_thread() {
  Fiber* fiber = thread_->fiber;
  thread_->doing = ThreadState::Doing::returned;
  warp_->lanes.remove_first();
  if (--live_ > 0) {
    select();
    if (thread_->fiber == nullptr) {
      thread_->fiber = fiber;
      return;
    }
  }
  idle_.push_back(fiber);
  fiber->switch_to(live_ > 0 ? *thread_->fiber : main_);
}

/// Selects the thread that goes on. Returns: where it is to be found, unless it is this one.
detail::Context BlockRunner::hand_over() {
  Fiber* fiber = thread_->fiber;
  select();
  if (thread_->fiber == fiber) return nullptr;
  if (thread_->fiber == nullptr) thread_->fiber = &idle_fiber();
  return fiber->leave_for(*thread_->fiber);
}

Fiber& BlockRunner::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(&fiber_body, static_cast<int>(fibers_.size())));
    return *fibers_.back();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

void BlockRunner::stop(KernelFault fault) {
  fault_ = std::move(fault);
  thread_->fiber->switch_to(main_);
  __builtin_unreachable();
}

// ---- Meetings -----------------------------------------------------------------------------------

/// Returns: true of the last lane to come; all lanes are then ready.
bool BlockRunner::arrive_in_warp(Collective kind, Site site) {
  Warp& warp = *warp_;
  thread_->doing = ThreadState::Doing::in_collective;
  thread_->collective = kind;
  thread_->site = site;
  if (warp.arrived == 0) warp.first = thread_;
  warp.mixed |= kind != warp.first->collective || !(site == warp.first->site);
  warp.lanes.remove_first();
  if (++warp.arrived < kWarpSize) return false;

  if (warp.mixed) {
    stop(explain_missing_lanes(
        std::span(threads_).subspan(static_cast<std::size_t>(warp.begin), kWarpSize), warp.begin));
  }
  if (observer_ != nullptr) observer_->warp_barrier(warp.begin / kWarpSize, site);
  warp.arrived = 0;
  warp.lanes.refill();
  ++warp.meeting;
  return true;
}

detail::Handover BlockRunner::meet_warp(Site site) {
  if (is_left_out(site)) return {};
  arrive_in_warp(Collective::sync_warp, site);
  return {.next = hand_over()};
}

detail::Handover BlockRunner::exchange(std::uint64_t value, Site site) {
  detail::Exchange& exchange = warp_->exchanges[warp_->meeting % 2];
  exchange.words[running_lane()] = value;
  arrive_in_warp(Collective::shuffle, site);
  return {.next = hand_over(), .exchange = &exchange};
}

detail::Handover BlockRunner::reduce(float value, Collective kind, Site site) {
  detail::Exchange& exchange = warp_->exchanges[warp_->meeting % 2];
  exchange.floats[running_lane()] = value;
  if (arrive_in_warp(kind, site)) exchange.reduced = tree_of(exchange.floats, kind);
  return {.next = hand_over(), .exchange = &exchange};
}

detail::Handover BlockRunner::exchange_rows(const detail::MatrixRow& row, Site site) {
  detail::Exchange& exchange = warp_->exchanges[warp_->meeting % 2];
  exchange.rows[running_lane()] = row;
  arrive_in_warp(Collective::load_matrix, site);
  return {.next = hand_over(), .exchange = &exchange};
}

detail::Handover BlockRunner::multiply(const detail::MatrixShare& share, MatrixType type,
                                       Site site) {
  detail::Exchange& exchange = warp_->exchanges[warp_->meeting % 2];
  exchange.shares[running_lane()] = share;
  if (arrive_in_warp(Collective::matrix_step, site)) {
    multiply_matrices(exchange.shares, type, launch_.step_model);
  }
  return {.next = hand_over(), .exchange = &exchange};
}

detail::Handover BlockRunner::meet_block(Site site) {
  if (is_left_out(site)) return {};
  thread_->doing = ThreadState::Doing::in_barrier;
  thread_->site = site;
  if (arrived_ == 0) first_ = thread_;
  mixed_ |= !(site == first_->site);
  warp_->lanes.remove_first();
  if (++arrived_ == detail::running.threads) {
    if (mixed_) stop(explain_deadlock(threads_));
    if (observer_ != nullptr) observer_->block_barrier(site);
    arrived_ = 0;
    ready_all();
  }
  return {.next = hand_over()};
}

void BlockRunner::ready_all() {
  for (int w = 0; w < detail::running.threads / kWarpSize; ++w) {
    warps_[static_cast<std::size_t>(w)].lanes.refill();
  }
  ready_warps_.refill();
  warp_ = &warps_[static_cast<std::size_t>(ready_warps_.first())];
}

SharedMemory BlockRunner::declare_shared(const SharedArray& array) {
  const std::size_t known = arena_.count();
  const SharedMemory memory = arena_.declare(array);
  if (observer_ != nullptr && arena_.count() > known) {
    observer_->shared_array(array.name, memory.offset, memory.bytes);
  }
  return memory;
}

// ---- Copies -------------------------------------------------------------------------------------

CopyQueue& BlockRunner::copies_of_thread() {
  if (copies_.empty()) copies_.resize(threads_.size());
  return copies_[static_cast<std::size_t>(detail::running.thread)];
}

void BlockRunner::start_copy(const detail::AsyncCopy& copy) {
  CopyQueue& copies = copies_of_thread();
  copies.start(copy);
  if (launch_.seed.has_value() && random_.below(3) == 0) copies.move_newest();
}

void BlockRunner::commit_copies() {
  CopyQueue& copies = copies_of_thread();
  copies.commit();
  if (launch_.seed.has_value() && random_.below(3) == 0) copies.move_all();
}

void BlockRunner::wait_copies(int pending) {
  copies_of_thread().wait(pending, [this](const detail::AsyncCopy& copy) {
    if (observer_ != nullptr) observer_->copy_arrived(copy.write);
  });
}

/// Of a thread that has returned: names a copy that it has left on its way.
void BlockRunner::check_copies_of_thread() {
  if (copies_.empty() || copies_of_thread().empty()) return;
  observer_->copy_abandoned(copies_of_thread().oldest().write);
}

// ---- meeting.h and async_copy.h -----------------------------------------------------------------

namespace detail {

bool is_left_out(Site site) { return active_runner->is_left_out(site); }

Handover meet_block(Site site) { return active_runner->meet_block(site); }
Handover meet_warp(Site site) { return active_runner->meet_warp(site); }
Handover exchange(std::uint64_t value, Site site) { return active_runner->exchange(value, site); }
Handover reduce(float value, Collective kind, Site site) {
  return active_runner->reduce(value, kind, site);
}
Handover exchange_rows(const MatrixRow& row, Site site) {
  return active_runner->exchange_rows(row, site);
}
Handover multiply(const MatrixShare& share, MatrixType type, Site site) {
  return active_runner->multiply(share, type, site);
}
SharedMemory declare_shared(const SharedArray& array) {
  return active_runner->declare_shared(array);
}

void start_copy(const AsyncCopy& copy) { active_runner->start_copy(copy); }
void commit_copies() { active_runner->commit_copies(); }
void wait_copies(int pending) { active_runner->wait_copies(pending); }

}  // namespace detail
}  // namespace forge::simt
