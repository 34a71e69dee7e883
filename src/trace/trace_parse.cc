#include "forge/trace/trace_header.h"
#include "forge/trace/trace_json.h"
#include "json_parse.h"
#include "snapshot_fields.h"

namespace forge::trace {
namespace {

using detail::Fault;
using detail::fault;
using detail::parse_digest;
using detail::parse_member;
using detail::Parsed;
using detail::shown;
using Json = nlohmann::json;

/// The rule for [first, first + count) of a list of `size`.
Parsed check_range(std::uint64_t first, std::uint64_t count, std::size_t size) {
  if (first + count <= size) return {};
  return fault("[" + std::to_string(first) + ", " + std::to_string(first + count) +
               ") is not inside a list of " + std::to_string(size));
}

Parsed check_ranges(const StepPlan& plan) {
  for (std::size_t i = 0; i < plan.tables.size(); ++i) {
    const TableDelta& t = plan.tables[i];
    Parsed range = check_range(t.appended_first, t.appended_count, plan.appended_blocks.size());
    if (!range) return tl::unexpected(std::move(range.error()).at(i).within("step.tables"));
  }
  if (plan.decodes > plan.slices.size()) {
    return fault("step.decodes: " + std::to_string(plan.decodes) + " is not in 0.." +
                 std::to_string(plan.slices.size()) + ", the number of slices");
  }
  return {};
}

Parsed check_ranges(const StepResult& result) {
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    const SliceResult& s = result.slices[i];
    Parsed range = check_range(s.first_token, s.token_count, result.tokens.size());
    if (!range) return tl::unexpected(std::move(range.error()).at(i).within("result.slices"));
  }
  for (std::size_t i = 0; i < result.reports.size(); ++i) {
    const TokenReport& r = result.reports[i];
    Parsed range = check_range(r.first_likely, r.likely_count, result.likely.size());
    if (!range) return tl::unexpected(std::move(range.error()).at(i).within("result.reports"));
  }
  if (!result.logits.empty() && result.logits.size() != result.tokens.size()) {
    return fault("result.logits: " + std::to_string(result.logits.size()) + " digests for " +
                 std::to_string(result.tokens.size()) + " tokens");
  }
  return {};
}

Parsed parse_link(const Json& line, std::uint64_t& out) {
  const auto link = line.find("link");
  if (link == line.end()) return fault("field 'link' is missing");
  return parse_digest(*link, out);
}

tl::expected<TraceEvent, Fault> parse_step(const Json& line) {
  StepEvent event;
  Parsed parsed = parse_member(line, "step", event.plan);
  if (parsed) parsed = parse_member(line, "result", event.result);
  if (parsed && line.contains("cache")) parsed = parse_member(line, "cache", event.cache);
  if (parsed) parsed = parse_link(line, event.link);
  if (parsed) parsed = check_ranges(event.plan);
  if (parsed) parsed = check_ranges(event.result);
  if (!parsed) return tl::unexpected(parsed.error());
  return event;
}

bool is_trace_id(const std::string& text) {
  return text.empty() ||
         (text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos);
}

/// What the request and its output say twice, they say alike; the tokens of the sequence are
/// theirs.
Parsed complete(SequenceSnapshot& sequence, const OpenRequest& open) {
  const SequenceView& view = sequence.view;
  const Request& request = open.submit.request;
  if (auto valid = validate_fields(request); !valid) {
    return fault("request: " + to_string(valid.error()));
  }
  if (!is_trace_id(open.submit.trace_id)) return fault("trace_id: not 32 hexadecimal digits");
  const bool is_alike =
      open.submit.seq == view.seq && request.prompt.size() == view.prompt_tokens &&
      open.output.size() == view.output_tokens && request.max_new_tokens == view.max_new_tokens &&
      request.priority == view.priority && request.client == sequence.client &&
      request.user == sequence.user && request.weight == sequence.weight &&
      request.cache_salt == sequence.cache_salt;
  if (!is_alike) {
    return fault("sequence " + std::to_string(view.seq.value) +
                 " of the snapshot is another one than this request");
  }
  if (open.told == 0 || open.told > request.prompt.size()) {
    return fault("told: " + std::to_string(open.told) + " is not in 1.." +
                 std::to_string(request.prompt.size()) + ", the tokens of the prompt");
  }
  if (!sequence.uses_prefix_cache) return {};
  sequence.tokens = request.prompt;
  sequence.tokens.insert(sequence.tokens.end(), open.output.begin(), open.output.end());
  return {};
}

tl::expected<TraceEvent, Fault> parse_snapshot(const Json& line) {
  SnapshotEvent event;
  Parsed parsed = parse_member(line, "snapshot", event.scheduler);
  if (parsed && line.contains("requests")) parsed = parse_member(line, "requests", event.requests);
  if (parsed) parsed = parse_link(line, event.link);
  if (!parsed) return tl::unexpected(parsed.error());
  std::vector<SequenceSnapshot>& sequences = event.scheduler.sequences;
  if (sequences.size() != event.requests.size()) {
    return fault("requests: " + std::to_string(event.requests.size()) + " for " +
                 std::to_string(sequences.size()) + " sequences of the snapshot");
  }
  for (std::size_t i = 0; i < sequences.size() && parsed; ++i) {
    parsed = complete(sequences[i], event.requests[i]);
    if (!parsed) return tl::unexpected(std::move(parsed.error()).at(i).within("requests"));
  }
  return event;
}

template <class Event>
tl::expected<TraceEvent, Fault> parse_as(const Json& line, std::string_view key) {
  Event event;
  if (Parsed parsed = parse_member(line, key, event); !parsed) {
    return tl::unexpected(parsed.error());
  }
  return event;
}

tl::expected<TraceEvent, Fault> parse_submit(const Json& line) {
  auto event = parse_as<SubmitEvent>(line, "submit");
  if (!event) return event;
  const SubmitEvent& submit = std::get<SubmitEvent>(*event);
  if (auto valid = validate_fields(submit.request); !valid) {
    return fault("submit.request: " + to_string(valid.error()));
  }
  if (!is_trace_id(submit.trace_id)) {
    return fault("submit.trace_id: " + shown(line["submit"]["trace_id"]) +
                 " is not a text of 32 lower-case hexadecimal digits");
  }
  return event;
}

tl::expected<TraceEvent, Fault> parse_event(const Json& line) {
  if (line.is_object() && line.size() == 1) {
    const std::string& kind = line.begin().key();
    if (kind == "submit") return parse_submit(line);
    if (kind == "release_session") return parse_as<ReleaseSessionEvent>(line, kind);
    if (kind == "clear_prefix_cache") return parse_as<ClearPrefixCacheEvent>(line, kind);
    if (kind == "cancel") {
      auto event = parse_as<CancelEvent>(line, kind);
      if (event && std::get<CancelEvent>(*event).reason == FinishReason::none) {
        return fault("cancel.reason: \"none\" is not a reason to cancel");
      }
      return event;
    }
  }
  const bool is_snapshot = line.is_object() && line.contains("snapshot");
  if (is_snapshot && line.size() == (line.contains("requests") ? 3 : 2)) {
    return parse_snapshot(line);
  }
  const std::size_t parts = line.is_object() && line.contains("cache") ? 4 : 3;
  if (line.is_object() && line.size() == parts && line.contains("step")) return parse_step(line);
  return fault(
      shown(line) +
      " is not an event: {\"submit\"}, {\"cancel\"}, {\"release_session\"}, "
      "{\"clear_prefix_cache\"}, {\"snapshot\",\"link\"}, with \"requests\" or without, or "
      "{\"step\",\"result\",\"link\"}, with \"cache\" or without");
}

Parsed check_config(const SchedulerConfig& config) {
  const auto valid = validate(config);
  if (valid) return {};
  const ConfigError& error = valid.error();
  return fault("scheduler." + error.name + ": " + error.value + " is not in " + error.accepted);
}

}  // namespace

tl::expected<TraceHeader, std::string> header_from_json(const Json& line) {
  if (!line.is_object() || !line.contains("forge_trace")) {
    return tl::unexpected(std::string("not a Forge trace: the first line has no \"forge_trace\""));
  }
  std::uint64_t version = 0;
  Parsed parsed = parse_member(line, "forge_trace", version);
  if (parsed && (version < kOldestTraceVersion || version > kTraceVersion)) {
    parsed = fault("forge_trace: version " + std::to_string(version) + "; this program reads " +
                   std::to_string(kOldestTraceVersion) + " to " + std::to_string(kTraceVersion) +
                   (version < kTraceVersion ? ", so the run has to be recorded again" : ""));
  }
  TraceHeader header;
  if (parsed) parsed = parse_member(line, "scheduler", header.scheduler);
  if (parsed) parsed = check_config(header.scheduler);
  if (parsed && !line.contains("target")) parsed = fault("field 'target' is missing");
  const bool says_tokens = line.contains("tokens");
  if (parsed && says_tokens) parsed = parse_member(line, "tokens", header.tokens);
  if (parsed && line.size() != (says_tokens ? 4 : 3)) {
    parsed = fault("the header has unknown fields");
  }
  if (!parsed) return tl::unexpected(parsed.error().text());
  header.target = line["target"];
  header.version = version;
  return header;
}

tl::expected<TraceEvent, std::string> event_from_json(const Json& line) {
  auto event = parse_event(line);
  if (!event) return tl::unexpected(event.error().text());
  return *std::move(event);
}

}  // namespace forge::trace
