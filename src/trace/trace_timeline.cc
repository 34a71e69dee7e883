#include "forge/trace/trace_timeline.h"

namespace forge::trace {
namespace {

/// Sizes of what a state mostly consists of, about.
constexpr std::uint64_t kBlockBytes = 28;
constexpr std::uint64_t kSequenceBytes = 200;

}  // namespace

TraceTimeline::TraceTimeline(std::istream& in, TraceReader reader)
    : in_(&in), header_(reader.header()), reader_(std::move(reader)), state_(header_.scheduler) {
  keep_checkpoint();
}

tl::expected<TraceTimeline, TraceError> TraceTimeline::open(std::istream& in) {
  auto reader = TraceReader::open(in);
  if (!reader) return tl::unexpected(reader.error());
  return TraceTimeline(in, *std::move(reader));
}

tl::expected<bool, TraceError> TraceTimeline::seek(StepId step) {
  if (moment_ && moment_->step.plan.step == step) return true;
  if (step < state_.next_step()) return_to_checkpoint(step);
  while (!moment_ || state_.next_step() <= step) {
    auto read = read_step();
    if (!read || !*read) return read;
  }
  return true;
}

/// The last checkpoint from which `step` is still to come.
void TraceTimeline::return_to_checkpoint(StepId step) {
  const auto& [next_step, checkpoint] = *std::prev(checkpoints_.upper_bound(step.value));
  state_ = checkpoint.state;
  reader_ = TraceReader::resume(*in_, header_, checkpoint.place);
  moment_.reset();
}

tl::expected<bool, TraceError> TraceTimeline::read_step() {
  std::vector<TraceEvent> asked;
  while (true) {
    auto event = reader_.next();
    if (!event) return tl::unexpected(event.error());
    if (!*event) return false;
    if (const auto done = state_.apply(**event); !done) {
      return tl::unexpected(reader_.error_here(done.error()));
    }
    if (auto* step = std::get_if<StepEvent>(&**event)) {
      moment_ = TraceMoment{std::move(asked), std::move(*step), reader_.line()};
      keep_checkpoint();
      return true;
    }
    if (!std::holds_alternative<SnapshotEvent>(**event)) asked.push_back(std::move(**event));
  }
}

void TraceTimeline::keep_checkpoint() {
  const std::uint64_t next = state_.next_step().value;
  if (next % distance_ != 0 || checkpoints_.contains(next)) return;
  checkpoints_.emplace(next, Checkpoint{reader_.place(), state_,
                                        kBlockBytes * header_.scheduler.cache.num_blocks +
                                            kSequenceBytes * state_.sequences().size()});
  const auto too_much = [&] {
    std::uint64_t bytes = 0;
    for (const auto& [step, checkpoint] : checkpoints_) bytes += checkpoint.bytes;
    return checkpoints_.size() > kMaxCheckpoints || bytes > kMaxCheckpointBytes;
  };
  while (checkpoints_.size() > 1 && too_much()) {
    distance_ *= 2;
    std::erase_if(checkpoints_, [&](const auto& entry) { return entry.first % distance_ != 0; });
  }
}

}  // namespace forge::trace
