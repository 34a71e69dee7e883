#include "forge/trace/trace_writer.h"

#include <algorithm>
#include <array>

#include "forge/trace/trace_header.h"
#include "forge/trace/trace_json.h"
#include "json_text.h"
#include "snapshot_fields.h"

namespace forge::trace {
namespace {

using detail::append_json;

void append_header(TextBuffer& out, const TraceHeader& header) {
  out.append(std::string_view("{\"forge_trace\":"));
  out.append(header.version);
  out.append(std::string_view(",\"scheduler\":"));
  append_json(out, header.scheduler);
  out.append(std::string_view(",\"target\":"));
  out.append(header.target.dump());
  if (header.tokens != TraceTokens::exposed) {
    out.append(std::string_view(",\"tokens\":"));
    append_json(out, header.tokens);
  }
  out.append('}');
}

void append_submit(TextBuffer& out, const SubmitEvent& event) {
  out.append(std::string_view("{\"submit\":"));
  append_json(out, event);
  out.append('}');
}

void append_cancel(TextBuffer& out, const CancelEvent& event) {
  out.append(std::string_view("{\"cancel\":"));
  append_json(out, event);
  out.append('}');
}

void append_release_session(TextBuffer& out, const ReleaseSessionEvent& event) {
  out.append(std::string_view("{\"release_session\":"));
  append_json(out, event);
  out.append('}');
}

void append_clear_prefix_cache(TextBuffer& out) {
  out.append(std::string_view("{\"clear_prefix_cache\":{}}"));
}

void append_step(TextBuffer& out, const StepPlan& plan, const StepResult& result,
                 const CacheDelta& cache, std::uint64_t link) {
  out.append(std::string_view("{\"step\":"));
  append_json(out, plan);
  out.append(std::string_view(",\"result\":"));
  append_json(out, result);
  if (!cache.empty()) {
    out.append(std::string_view(",\"cache\":"));
    append_json(out, cache);
  }
  out.append(std::string_view(",\"link\":"));
  detail::append_json_digest(out, link);
  out.append('}');
}

void append_snapshot(TextBuffer& out, const SnapshotEvent& event) {
  out.append(std::string_view("{\"snapshot\":"));
  append_json(out, event.scheduler);
  if (!event.requests.empty()) {
    out.append(std::string_view(",\"requests\":"));
    append_json(out, event.requests);
  }
  out.append(std::string_view(",\"link\":"));
  detail::append_json_digest(out, event.link);
  out.append('}');
}

struct AppendEvent {
  TextBuffer& out;
  void operator()(const SubmitEvent& e) const { append_submit(out, e); }
  void operator()(const CancelEvent& e) const { append_cancel(out, e); }
  void operator()(const ReleaseSessionEvent& e) const { append_release_session(out, e); }
  void operator()(const ClearPrefixCacheEvent&) const { append_clear_prefix_cache(out); }
  void operator()(const StepEvent& e) const { append_step(out, e.plan, e.result, e.cache, e.link); }
  void operator()(const SnapshotEvent& e) const { append_snapshot(out, e); }
};

}  // namespace

TraceWriter::TraceWriter(std::span<TraceOutput* const> outputs, const TraceHeader& header)
    : header_(header) {
  for (TraceOutput* const out : outputs) {
    outputs_.push_back({out});
    if (out->has_next() && !open_) open_.emplace();
  }
  if (header.tokens == TraceTokens::veiled) veil_ = TokenVeil::random();
  append_header(line_, header_);
  end_line();
}

TraceWriter::TraceWriter(TraceOutput& out, const TraceHeader& header)
    : TraceWriter(std::array{&out}, header) {}

TraceWriter::TraceWriter(std::ostream& out, const TraceHeader& header)
    : TraceWriter(std::make_unique<TraceStream>(out), header) {}

TraceWriter::TraceWriter(std::unique_ptr<TraceOutput> owned, const TraceHeader& header)
    : TraceWriter(*owned, header) {
  owned_ = std::move(owned);
}

void TraceWriter::submit(SeqId seq, const Request& request, std::string_view trace_id) {
  const SubmitEvent event{seq, veil_ ? veil_->submit(seq, request) : request,
                          std::string(trace_id)};
  if (open_) open_->submit(event, StepId{steps_});
  append_submit(line_, event);
  end_line();
}

void TraceWriter::cancel(SeqId seq, FinishReason reason) {
  append_cancel(line_, {seq, reason});
  end_line();
}

void TraceWriter::release_session(SessionId session) {
  append_release_session(line_, {session});
  end_line();
}

void TraceWriter::clear_prefix_cache() {
  append_clear_prefix_cache(line_);
  end_line();
}

void TraceWriter::step(const StepPlan& plan, const StepResult& result, const CacheDelta& cache) {
  const StepResult& told = veil_ ? veil_->step(plan, result) : result;
  append_step(line_, plan, told, cache, run_.add(plan, told));
  if (open_) open_->step(plan, told);
  ++steps_;
  end_line();
}

bool TraceWriter::wants_snapshot() const { return std::ranges::any_of(outputs_, is_full); }

void TraceWriter::go_on(const SchedulerSnapshot& scheduler) {
  TextBuffer header;
  append_header(header, header_);
  header.append('\n');
  append_snapshot(line_, {.scheduler = veil_ ? veil_->snapshot(scheduler) : scheduler,
                          .requests = open_.value().all(),
                          .link = run_.value()});
  line_.append('\n');
  for (Output& output : outputs_) {
    if (!is_full(output)) continue;
    note(output, output.out->next());
    write(output, header.view());
    write(output, line_.view());
  }
  line_.clear();
}

void TraceWriter::end_line() {
  line_.append('\n');
  for (Output& output : outputs_) write(output, line_.view());
  line_.clear();
}

void TraceWriter::write(Output& output, std::string_view line) {
  if (!output.has_failed) note(output, output.out->write(line));
}

bool TraceWriter::flush() {
  for (Output& output : outputs_) {
    if (!output.has_failed) note(output, output.out->flush());
  }
  if (!failure_) steps_flushed_ = steps_;
  return !failure_;
}

void TraceWriter::note(Output& output, const TraceOutput::Written& written) {
  if (written) return;
  output.has_failed = true;
  if (!failure_) failure_ = written.error();
}

std::string to_json_line(const TraceHeader& header) {
  TextBuffer out;
  append_header(out, header);
  return std::string(out.view());
}

std::string to_json_line(const TraceEvent& event) {
  TextBuffer out;
  std::visit(AppendEvent{out}, event);
  return std::string(out.view());
}

std::string digest_text(std::uint64_t digest) {
  TextBuffer out;
  out.append_hex(digest);
  return std::string(out.view());
}

}  // namespace forge::trace
