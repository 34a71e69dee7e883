// TraceState from a snapshot.
#include <algorithm>

#include "forge/core/scheduler.h"
#include "forge/trace/trace_state.h"

namespace forge::trace {

/// Within a trace it says what is known.
TraceState::Applied TraceState::follow(const SnapshotEvent& event) {
  const SchedulerSnapshot& snapshot = event.scheduler;
  if (has_begun_ && snapshot.next_step != next_step_) {
    return tl::unexpected("the file goes on with step " + std::to_string(snapshot.next_step.value) +
                          " where step " + std::to_string(next_step_.value) +
                          " was to come: one of the sequence is missing or in another place");
  }
  if (has_begun_) return {};
  if (const auto restored = Scheduler::restore(config_, snapshot); !restored) {
    return tl::unexpected("snapshot: " + restored.error());
  }
  next_step_ = snapshot.next_step;
  for (std::size_t i = 0; i < snapshot.sequences.size(); ++i) {
    begin(snapshot.sequences[i], event.requests[i]);
  }
  for (const SeqId seq : snapshot.running) {
    TracedSequence& sequence = sequences_.at(seq);
    sequence.entry = ++entries_;
    move(sequence, Place::running);
  }
  for (const TableSnapshot& table : snapshot.cache.tables) {
    if (auto done = blocks_.hold(table.seq, table.blocks); !done) return done;
  }
  for (const TableSnapshot& table : snapshot.host.tables) {
    TracedSequence& sequence = sequences_.at(table.seq);
    sequence.host_blocks = static_cast<std::uint32_t>(table.blocks.size());
    host_blocks_ += sequence.host_blocks;
    move(sequence, Place::swapped);
  }
  cached_.begin(snapshot.cache.cached);
  shares_.restore(snapshot.shares);
  return {};
}

void TraceState::begin(const SequenceSnapshot& told, const OpenRequest& open) {
  const SequenceView& view = told.view;
  TracedSequence sequence{
      .seq = view.seq,
      .priority = view.priority,
      .client = told.client,
      .user = told.user,
      .weight = told.weight,
      .share = shares_.enter(told.client, told.user),
      .has_begun = told.admitted,
      .charged_tokens = told.charged_tokens,
      .prompt_tokens = view.prompt_tokens,
      .max_new_tokens = view.max_new_tokens,
      .output_tokens = view.output_tokens,
      .computed_tokens = view.computed_tokens,
      .most_computed_tokens = std::max(view.computed_tokens, told.charged_tokens),
      .preemptions = view.preemptions,
      .submitted = open.before,
      .deadline_steps = open.submit.request.deadline_steps,
      .session = open.submit.request.session,
      .ends = view.state == SequenceState::finishing};
  if (view.state == SequenceState::waiting) begin_waiting(sequence);
  sequences_.emplace(view.seq, sequence);
  ++waiting_count_;
}

}  // namespace forge::trace
