#include "forge/trace/trace_reader.h"

#include <istream>

#include "forge/trace/trace_json.h"
#include "json_line.h"

namespace forge::trace {
std::string to_string(const TraceError& error) {
  return "line " + std::to_string(error.line) + ", byte " + std::to_string(error.byte) + ": " +
         error.message;
}

std::string to_string(const LinkMismatch& mismatch) {
  return "step " + std::to_string(mismatch.step.value) + ": link " +
         digest_text(mismatch.recorded) + " is not the digest of the trace up to there, " +
         digest_text(mismatch.computed);
}

std::optional<LinkMismatch> LinkCheck::add(const StepEvent& step) {
  has_begun_ = true;
  const std::uint64_t computed = run_.add(step.plan, step.result);
  if (computed == step.link) return std::nullopt;
  return LinkMismatch{step.plan.step, step.link, computed};
}

void LinkCheck::begin(const SnapshotEvent& snapshot) {
  if (!has_begun_) run_ = RunDigest(snapshot.link);
  has_begun_ = true;
}

TraceError TraceReader::error_here(std::string message) const {
  return {line_, line_start_, std::move(message)};
}

tl::expected<TraceReader, TraceError> TraceReader::open(std::istream& in) {
  TraceReader reader(in);
  auto line = reader.next_line();
  if (!line) {
    // Files of other kinds mostly fail as JSON; say what was expected of the first line.
    const bool is_cut = reader.ends_within_line_;
    line.error().message =
        "not a Forge trace: " +
        (is_cut ? "the file ends within the first line, its header" : line.error().message);
    return tl::unexpected(line.error());
  }
  if (!*line) return tl::unexpected(TraceError{1, 0, "not a Forge trace: the file is empty"});
  auto header = header_from_json(**line);
  if (!header) return tl::unexpected(reader.error_here(header.error()));
  reader.header_ = *std::move(header);
  return reader;
}

TraceReader TraceReader::resume(std::istream& in, TraceHeader header, const TracePlace& place) {
  TraceReader reader(in);
  reader.header_ = std::move(header);
  reader.line_ = place.line - 1;
  reader.next_start_ = place.byte;
  in.clear();
  in.seekg(static_cast<std::streamoff>(place.byte));
  return reader;
}

tl::expected<std::optional<TraceEvent>, TraceError> TraceReader::next() {
  if (failed_) return std::nullopt;
  auto event = next_event();
  failed_ = !event;
  return event;
}

tl::expected<std::optional<TraceEvent>, TraceError> TraceReader::next_event() {
  auto line = next_line();
  if (!line) return tl::unexpected(line.error());
  if (*line && (*line)->is_object() && (*line)->contains("forge_trace")) {
    const auto header = header_from_json(**line);
    if (!header) return tl::unexpected(error_here(header.error()));
    if (*header != header_) {
      return tl::unexpected(error_here("the header of another run: one file has one run"));
    }
    is_after_header_ = goes_on_ = true;
    line = next_line();
    if (!line) return tl::unexpected(line.error());
  }
  if (!*line) return std::nullopt;
  auto event = to_event(**line);
  if (!event) return tl::unexpected(error_here(event.error()));
  return *std::move(event);
}

/// A snapshot stands after a header, and nowhere else.
tl::expected<TraceEvent, std::string> TraceReader::to_event(const nlohmann::json& line) {
  auto event = event_from_json(line);
  if (!event) return event;
  const bool is_snapshot = std::holds_alternative<SnapshotEvent>(*event);
  if (is_snapshot && !is_after_header_) {
    return tl::unexpected(std::string("a snapshot stands after a header, and nowhere else"));
  }
  if (goes_on_ && !is_snapshot) {
    return tl::unexpected(
        std::string("after a header within a trace comes a snapshot: another run begins here"));
  }
  is_after_header_ = goes_on_ = false;
  return event;
}

tl::expected<bool, TraceError> TraceReader::read_text() {
  text_.clear();
  std::streambuf& bytes = *in_->rdbuf();
  constexpr auto kEnd = std::streambuf::traits_type::eof();
  auto c = bytes.sbumpc();
  if (c == kEnd) return false;
  ++line_;
  line_start_ = next_start_;
  for (; c != kEnd && c != '\n'; c = bytes.sbumpc()) {
    if (text_.size() == kMaxLineBytes) {
      return tl::unexpected(error_here("longer than " + std::to_string(kMaxLineBytes) + " bytes"));
    }
    text_.push_back(static_cast<char>(c));
  }
  next_start_ += text_.size() + 1;
  if (c == kEnd) {
    ends_within_line_ = true;
    return tl::unexpected(TraceError{line_, line_start_ + text_.size(), kEndsWithinLine});
  }
  return true;
}

tl::expected<std::optional<nlohmann::json>, TraceError> TraceReader::next_line() {
  const auto text = read_text();
  if (!text) return tl::unexpected(text.error());
  if (!*text) return std::nullopt;
  auto json = detail::parse_line(text_, {line_, line_start_});
  if (!json) return tl::unexpected(std::move(json.error()));
  return *std::move(json);
}

}  // namespace forge::trace
