#include "sim_stream.h"

#include <type_traits>
#include <utility>

#include "forge/sim/kernel_time.h"

namespace forge::sim {
namespace {

using Kind = DeviceCall::Kind;

// Of every device since compute capability 3.0.
constexpr int kGridMax = 65535;  // in y and z
constexpr int kThreadsMax = 1024;

}  // namespace

// ---- Events and graphs ----------------------------------------------------------

gpu::Status StreamPoint::reach() const {
  return reached() ? gpu::Status() : progress->stream->run_to(position);
}

SimEvent::SimEvent(SimContext& context) : context_(context), time_us_(std::make_shared<double>(0)) {
  ++context_.live_objects;
}

SimEvent::~SimEvent() { --context_.live_objects; }

gpu::Status SimEvent::synchronize() {
  if (auto begun = context_.begin_call_outside_capture(Kind::synchronize, "event"); !begun) {
    return begun;
  }
  if (auto done = point_.reach(); !done) return done;
  return context_.check_guards();
}

tl::expected<double, gpu::DeviceError> SimEvent::microseconds_since(
    const gpu::Event& earlier) const {
  const auto& other = static_cast<const SimEvent&>(earlier);
  for (const SimEvent* const event : {this, &other}) {
    if (!event->point_.progress) {
      return tl::unexpected(context_.error(Kind::event, "time of an event that was not recorded"));
    }
    if (!event->point_.reached()) {
      return tl::unexpected(context_.error(Kind::event, "time of an event that is not done"));
    }
  }
  return *time_us_ - *other.time_us_;
}

SimGraph::SimGraph(SimContext& context, std::vector<GraphOperation> operations)
    : context_(context),
      operations_(std::make_shared<const std::vector<GraphOperation>>(std::move(operations))) {
  ++context_.live_objects;
}

SimGraph::~SimGraph() { --context_.live_objects; }

// ---- Streams: what is called ----------------------------------------------------

SimStream::SimStream(SimContext& context)
    : context_(context), progress_(std::make_shared<StreamProgress>()) {
  progress_->stream = this;
  context_.add(*this);
  ++context_.live_objects;
}

SimStream::~SimStream() {
  static_cast<void>(finish());
  if (capture_) context_.capturing = false;
  progress_->stream = nullptr;
  progress_->done = progress_->queued;
  context_.remove(*this);
  --context_.live_objects;
}

gpu::Status SimStream::refuse(gpu::DeviceError error) {
  if (capture_ && !capture_->broken_by) capture_->broken_by = error;
  return tl::unexpected(std::move(error));
}

gpu::Status SimStream::copy(void* to, const void* from, std::size_t bytes,
                            gpu::CopyDirection direction) {
  const auto late = context_.begin_call(Kind::copy, name_of(direction));
  if (!late) return refuse(late.error());
  const CopyOperation copy{to, from, bytes, direction};
  if (const auto bad = error_of(copy)) return refuse(context_.error(Kind::copy, *bad));
  if (capture_) {
    capture_->operations.emplace_back(copy);
    return {};
  }
  if (!*late) SimContext::poison_destination(copy);
  queue(copy, *late);
  return {};
}

gpu::Status SimStream::launch(const gpu::KernelLaunch& launch) {
  const auto begun = context_.begin_call(Kind::launch, gpu::name(launch.kernel));
  if (!begun) return refuse(begun.error());
  if (const auto bad = error_of(launch)) return refuse(context_.error(Kind::launch, *bad));
  if (capture_) {
    capture_->operations.emplace_back(launch);
    return {};
  }
  queue(launch);
  return {};
}

gpu::Status SimStream::multiply(const gpu::LibraryProduct& product) {
  if (context_.options().library == nullptr) return Stream::multiply(product);
  const std::string what = to_string(product.shape);
  const auto begun = context_.begin_call(Kind::multiply, what);
  if (!begun) return refuse(begun.error());
  if (const auto bad = error_of(product)) return refuse(context_.error(Kind::multiply, *bad));
  ProductOperation operation{product, *product.algorithm};
  if (capture_) {
    capture_->operations.emplace_back(std::move(operation));
    return {};
  }
  queue(std::move(operation));
  return {};
}

gpu::Status SimStream::record(gpu::Event& event) {
  auto begun = context_.begin_call_outside_capture(Kind::event, "record");
  if (!begun) return refuse(std::move(begun.error()));
  auto& recorded = static_cast<SimEvent&>(event);
  queue(Record{recorded.time_us_});
  recorded.point_ = {progress_, progress_->queued};
  return {};
}

gpu::Status SimStream::wait(const gpu::Event& event) {
  auto begun = context_.begin_call_outside_capture(Kind::event, "wait");
  if (!begun) return refuse(std::move(begun.error()));
  queue(static_cast<const SimEvent&>(event).point_);
  return {};
}

gpu::Status SimStream::begin_capture() {
  auto begun = context_.begin_call_outside_capture(Kind::capture, "begin");
  if (!begun) return begun;
  capture_.emplace();
  context_.capturing = true;
  return {};
}

tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> SimStream::end_capture() {
  const auto begun = context_.begin_call(Kind::capture, "end");
  if (!capture_) return tl::unexpected(context_.error(Kind::capture, "end: none has begun"));
  Capture capture = *std::exchange(capture_, std::nullopt);
  context_.capturing = false;
  if (!begun) return tl::unexpected(begun.error());
  if (capture.broken_by) {
    return tl::unexpected(
        context_.error(Kind::capture, "end: broken by " + to_string(*capture.broken_by)));
  }
  return std::make_unique<SimGraph>(context_, std::move(capture.operations));
}

gpu::Status SimStream::launch(gpu::Graph& graph) {
  if (capture_) return refuse(context_.error(Kind::graph_launch, "not in a capture"));
  const auto late = context_.begin_call(Kind::graph_launch, "graph");
  if (!late) return refuse(late.error());
  const auto& operations = static_cast<SimGraph&>(graph).operations_;
  for (const GraphOperation& operation : *operations) {
    const auto* const copy = std::get_if<CopyOperation>(&operation);
    if (copy == nullptr) continue;
    if (const auto bad = error_of(*copy)) return refuse(context_.error(Kind::graph_launch, *bad));
    if (!*late) SimContext::poison_destination(*copy);
  }
  queue(GraphLaunch{operations}, *late);
  return {};
}

gpu::Status SimStream::synchronize() {
  auto begun = context_.begin_call_outside_capture(Kind::synchronize, "stream");
  if (!begun) return refuse(std::move(begun.error()));
  if (auto done = finish(); !done) return done;
  launches_.end_all();
  return context_.check_guards();
}

// ---- Streams: what runs ---------------------------------------------------------

template <class What>
void SimStream::queue(What what, bool late) {
  operations_.push_back({std::move(what), late});
  ++progress_->queued;
}

gpu::Status SimStream::run_to(std::uint64_t position) {
  while (progress_->done < position) {
    if (context_.lost()) return tl::unexpected(context_.lost_error(Kind::synchronize, "stream"));
    auto done = run(operations_[next_++]);
    ++progress_->done;
    if (!done) return done;
  }
  if (next_ == operations_.size()) {
    operations_.clear();
    next_ = 0;
  }
  return {};
}

gpu::Status SimStream::run(const Operation& operation) {
  const RunOptions options{.late = operation.late, .launches = &launches_};
  return std::visit(
      [&](const auto& what) -> gpu::Status {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, Record>) {
          *what.time_us = context_.now_us();
          return {};
        } else if constexpr (std::is_same_v<What, StreamPoint>) {
          return what.reach();
        } else if constexpr (std::is_same_v<What, GraphLaunch>) {
          return run(*what.operations, operation.late);
        } else {
          return context_.run(what, options);
        }
      },
      operation.what);
}

gpu::Status SimStream::run(const std::vector<GraphOperation>& operations, bool late) {
  const RunOptions options{.in_graph = true, .late = late, .launches = &launches_};
  for (const GraphOperation& operation : operations) {
    auto done =
        std::visit([&](const auto& what) { return context_.run(what, options); }, operation);
    if (!done) return done;
  }
  return {};
}

std::optional<std::string> SimStream::error_of(const CopyOperation& copy) const {
  const auto bad = context_.memory().copy_error(copy.to, copy.from, copy.bytes, copy.direction);
  if (!bad) return std::nullopt;
  return std::string(name_of(copy.direction)) + ", " + std::to_string(copy.bytes) +
         " bytes: " + *bad;
}

std::optional<std::string> SimStream::error_of(const gpu::LibraryProduct& product) const {
  const auto rows = static_cast<std::size_t>(product.shape.rows);
  const auto outputs = static_cast<std::size_t>(product.shape.outputs);
  const std::size_t row_bytes = 2 * static_cast<std::size_t>(product.shape.inputs);
  const SimMemory& memory = context_.memory();
  const std::string what = to_string(product.shape);
  for (const void* const matrix :
       {product.x, product.weights, static_cast<const void*>(product.sums)}) {
    if (reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0) continue;
    return what + ": a matrix begins on no multiple of 16 bytes";
  }
  if (auto bad = memory.range_error(product.x, rows * row_bytes)) return what + ": x: " + *bad;
  if (auto bad = memory.range_error(product.weights, outputs * row_bytes)) {
    return what + ": weights: " + *bad;
  }
  if (auto bad = memory.range_error(product.sums, rows * outputs * sizeof(float))) {
    return what + ": sums: " + *bad;
  }
  return std::nullopt;
}

std::optional<std::string> SimStream::error_of(const gpu::KernelLaunch& launch) const {
  const simt::Index3& grid = launch.shape.grid;
  const int threads = launch.shape.threads;
  const bool possible = grid.x > 0 && grid.y > 0 && grid.y <= kGridMax && grid.z > 0 &&
                        grid.z <= kGridMax && threads > 0 && threads <= kThreadsMax &&
                        threads % simt::kWarpSize == 0;
  const std::string kernel(gpu::name(launch.kernel));
  if (possible) {
    const int shared = gpu::resources_of(launch).shared_bytes;
    const std::uint64_t most = shared_bytes_of_block(context_.options().device);
    if (static_cast<std::uint64_t>(shared) <= most) return std::nullopt;
    return kernel + ": a block has at most " + std::to_string(most) +
           " bytes of shared memory here, not " + std::to_string(shared);
  }
  return kernel + ": no device launches a grid of " + std::to_string(grid.x) + " x " +
         std::to_string(grid.y) + " x " + std::to_string(grid.z) + " blocks of " +
         std::to_string(threads) + " threads";
}

}  // namespace forge::sim
