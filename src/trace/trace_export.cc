#include "forge/trace/trace_export.h"

#include <map>
#include <string>

#include "event_writer.h"
#include "forge/trace/trace_json.h"
#include "forge/trace/trace_state.h"

namespace forge::trace {
namespace {

using Place = TracedSequence::Place;

constexpr std::uint64_t kSequences = 1;  // process of the tracks
constexpr std::uint64_t kScheduler = 2;  // process of the counters
constexpr std::uint64_t kStepUs = 1000;

class Export {
 public:
  Export(TraceReader& trace, std::ostream& out)
      : trace_(trace), out_(out), state_(trace.header().scheduler) {}

  tl::expected<std::uint64_t, TraceError> run() {
    out_.name_process(kSequences, "sequences");
    out_.name_process(kScheduler, "scheduler");
    while (true) {
      const auto event = trace_.next();
      if (!event) return tl::unexpected(event.error());
      if (!*event) break;
      const auto* step = std::get_if<StepEvent>(&**event);
      const bool begins = !state_.has_begun();
      if (step != nullptr) leave(step->plan);
      if (const auto done = state_.apply(**event); !done) {
        return tl::unexpected(trace_.error_here(done.error()));
      }
      if (step != nullptr) show(*step);
      if (const auto* submit = std::get_if<SubmitEvent>(&**event)) show(*submit);
      const auto* snapshot = std::get_if<SnapshotEvent>(&**event);
      if (snapshot != nullptr && begins) show(*snapshot);
    }
    for (const auto& [seq, sequence] : state_.sequences()) {
      out_.end(track(seq), name_of(sequence.place), kStepUs * state_.next_step().value);
    }
    return out_.finish();
  }

 private:
  static detail::EventWriter::Track track(SeqId seq) { return {kSequences, seq.value}; }

  void show(const SubmitEvent& event) { show(event, Place::waiting); }

  /// Who is there already when the trace begins.
  void show(const SnapshotEvent& event) {
    for (const OpenRequest& open : event.requests) {
      show(open.submit, state_.find(open.submit.seq)->place);
    }
  }

  void show(const SubmitEvent& event, Place place) {
    std::string name = "seq " + std::to_string(event.seq.value);
    if (event.request.priority != Priority::normal) {
      name += " (" + std::string(name_of(event.request.priority)) + ')';
    }
    out_.name_thread(track(event.seq), name);
    shown_[event.seq] = place;
    const std::uint64_t ts = kStepUs * state_.next_step().value;
    const std::uint64_t prompt_tokens = event.request.prompt.size();
    const std::uint64_t max_new_tokens = event.request.max_new_tokens;
    if (event.trace_id.empty()) {
      out_.begin(track(event.seq), name_of(place), ts,
                 {{"prompt_tokens", prompt_tokens}, {"max_new_tokens", max_new_tokens}});
    } else {
      out_.begin(track(event.seq), name_of(place), ts,
                 {{"prompt_tokens", prompt_tokens},
                  {"max_new_tokens", max_new_tokens},
                  {"trace_id", std::string_view(event.trace_id)}});
    }
  }

  /// Before the state follows the plan: who goes elsewhere ends what it is in.
  void leave(const StepPlan& plan) {
    const std::uint64_t ts = kStepUs * plan.step.value;
    for (const Finish& finish : plan.finished) {
      end(finish.seq, ts);
      shown_.erase(finish.seq);
      out_.instant(track(finish.seq), name_of(finish.reason), ts);
    }
    for (const Preemption& preemption : plan.preempted) end(preemption.seq, ts);
    for (const Admission& admission : plan.admitted) end(admission.seq, ts);
    for (const Admission& admission : plan.resumed) end(admission.seq, ts);
    most_computed_.clear();
    for (const Slice& slice : plan.slices) {
      const TracedSequence* const sequence = state_.find(slice.seq);
      most_computed_.push_back(sequence == nullptr ? 0 : sequence->most_computed_tokens);
    }
  }

  void end(SeqId seq, std::uint64_t ts) {
    const TracedSequence* const sequence = state_.find(seq);
    if (sequence != nullptr) out_.end(track(seq), name_of(sequence->place), ts);
  }

  void show(const StepEvent& event) {
    const StepPlan& plan = event.plan;
    const std::uint64_t ts = kStepUs * plan.step.value;
    for (const Preemption& preemption : plan.preempted) {
      // Where it is now: a failed step has taken nobody to the host.
      begin(*state_.find(preemption.seq), ts);
    }
    for (const auto* admissions : {&plan.admitted, &plan.resumed}) {
      for (const Admission& a : *admissions) {
        shown_[a.seq] = Place::running;
        out_.begin(track(a.seq), name_of(Place::running), ts, {{"cached_tokens", a.cached_tokens}});
      }
    }
    std::uint64_t tokens = 0;
    for (std::size_t i = 0; i < plan.slices.size(); ++i) {
      tokens += plan.slices[i].count;
      show_slice(event, i);
    }
    counter("blocks held", ts, state_.blocks().held_count());
    counter("host blocks", ts, state_.host_blocks());
    counter("waiting", ts, state_.waiting_count() + state_.swapped_count());
    counter("running", ts, state_.running_count());
    counter("batch size", ts, plan.slices.size());
    counter("batch tokens", ts, tokens);
    if (event.result.kv_lost) lose_kv(ts + kStepUs);
  }

  void begin(const TracedSequence& sequence, std::uint64_t ts) {
    shown_[sequence.seq] = sequence.place;
    out_.begin(track(sequence.seq), name_of(sequence.place), ts);
  }

  void lose_kv(std::uint64_t ts) {
    for (const auto& [seq, sequence] : state_.sequences()) {
      if (shown_[seq] == sequence.place) continue;
      out_.end(track(seq), name_of(shown_[seq]), ts);
      out_.instant(track(seq), "KV lost", ts);
      begin(sequence, ts);
    }
  }

  void show_slice(const StepEvent& event, std::size_t index) {
    const Slice& slice = event.plan.slices[index];
    const SliceResult& answer = event.result.slices[index];
    const std::uint64_t ts = kStepUs * event.plan.step.value;
    std::string_view name = slice.samples ? "prefill" : "prefill chunk";
    if (index < event.plan.decodes)
      name = "decode";
    else if (slice.first < most_computed_[index])
      name = "recompute";
    out_.complete(track(slice.seq), name, {ts, kStepUs},
                  {{"step", event.plan.step.value},
                   {"first", slice.first},
                   {"count", slice.count},
                   {"tokens", answer.token_count}});
    if (slice.drafts == 0) return;
    const std::uint64_t before = kStepUs * (slice.count - slice.drafts) / slice.count;
    out_.complete(track(slice.seq), "drafts", {ts + before, kStepUs - before},
                  {{"proposed", slice.drafts},
                   {"accepted", answer.token_count > 0 ? answer.token_count - 1 : 0}});
  }

  void counter(std::string_view name, std::uint64_t ts, std::uint64_t value) {
    const auto [found, is_new] = counters_.emplace(name, value);
    if (!is_new && found->second == value) return;
    found->second = value;
    out_.counter(kScheduler, name, ts, value);
  }

  TraceReader& trace_;
  detail::EventWriter out_;
  TraceState state_;
  std::map<SeqId, Place> shown_;              // what each track is in
  std::vector<std::uint32_t> most_computed_;  // of the plan's slices, before them
  std::map<std::string_view, std::uint64_t> counters_;
};

}  // namespace

tl::expected<std::uint64_t, TraceError> export_perfetto(TraceReader& trace, std::ostream& out) {
  return Export(trace, out).run();
}

}  // namespace forge::trace
