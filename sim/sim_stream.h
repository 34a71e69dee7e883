// SimStream, SimEvent, SimGraph: queues whose operations run when a caller waits for them.
//
// A stream numbers its operations. Waiting for an event means running its stream up to the
// operation that records it, which may itself have to wait for an event of another stream.
//
// Thread contract: that of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim_context.h"

namespace forge::sim {

/// How far a stream has run. It outlives the stream, for events and for other streams that wait.
struct StreamProgress {
  SimStream* stream = nullptr;  ///< null once it is gone
  std::uint64_t queued = 0;     ///< operations so far
  std::uint64_t done = 0;       ///< operations that have run
};

/// A point in a stream: the first `position` operations lie before it.
struct StreamPoint {
  std::shared_ptr<StreamProgress> progress;  ///< null: nowhere, which is always reached
  std::uint64_t position = 0;

  bool reached() const { return !progress || progress->done >= position; }
  /// Runs the stream up to the point, unless it has come that far.
  gpu::Status reach() const;
};

class SimEvent : public gpu::Event {
 public:
  explicit SimEvent(SimContext& context);
  ~SimEvent() override;

  gpu::Status synchronize() override;
  tl::expected<double, gpu::DeviceError> microseconds_since(
      const gpu::Event& earlier) const override;

 private:
  friend class SimStream;

  SimContext& context_;
  StreamPoint point_;                ///< where the latest record() was queued
  std::shared_ptr<double> time_us_;  ///< the device's clock when a record() last ran
};

using GraphOperation = std::variant<CopyOperation, gpu::KernelLaunch, ProductOperation>;

class SimGraph : public gpu::Graph {
 public:
  SimGraph(SimContext& context, std::vector<GraphOperation> operations);
  ~SimGraph() override;

 private:
  friend class SimStream;

  SimContext& context_;
  std::shared_ptr<const std::vector<GraphOperation>> operations_;
};

class SimStream : public gpu::Stream {
 public:
  explicit SimStream(SimContext& context);
  ~SimStream() override;

  gpu::Status copy(void* to, const void* from, std::size_t bytes,
                   gpu::CopyDirection direction) override;
  gpu::Status launch(const gpu::KernelLaunch& launch) override;
  gpu::Status multiply(const gpu::LibraryProduct& product) override;
  gpu::Status record(gpu::Event& event) override;
  gpu::Status wait(const gpu::Event& event) override;
  gpu::Status begin_capture() override;
  tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override;
  gpu::Status launch(gpu::Graph& graph) override;
  gpu::Status synchronize() override;

  /// Runs operations up to number `position`.
  gpu::Status run_to(std::uint64_t position);
  /// Runs all of them.
  gpu::Status finish() { return run_to(progress_->queued); }

 private:
  struct Record {
    std::shared_ptr<double> time_us;
  };
  struct GraphLaunch {
    std::shared_ptr<const std::vector<GraphOperation>> operations;
  };
  struct Operation {
    std::variant<CopyOperation, gpu::KernelLaunch, ProductOperation, GraphLaunch, Record,
                 StreamPoint>
        what;
    bool late = false;
  };
  struct Capture {
    std::vector<GraphOperation> operations;
    std::optional<gpu::DeviceError> broken_by;
  };

  template <class What>
  void queue(What what, bool late = false);
  gpu::Status run(const Operation& operation);
  gpu::Status run(const std::vector<GraphOperation>& operations, bool late);
  std::optional<std::string> error_of(const CopyOperation& copy) const;
  std::optional<std::string> error_of(const gpu::KernelLaunch& launch) const;
  std::optional<std::string> error_of(const gpu::LibraryProduct& product) const;
  /// A call that failed ends a capture that is under way.
  gpu::Status refuse(gpu::DeviceError error);

  SimContext& context_;
  std::shared_ptr<StreamProgress> progress_;
  std::vector<Operation> operations_;  ///< queued; those before next_ have run
  std::size_t next_ = 0;
  std::optional<Capture> capture_;
  simt::LaunchChain launches_;
};

}  // namespace forge::sim
