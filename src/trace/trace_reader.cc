#include "forge/trace/trace_reader.h"

#include <istream>

#include "forge/trace/trace_json.h"

namespace forge {
namespace {

/// Deepest nesting of brackets outside strings. A parser pays for depth with memory (and, when
/// the value is used, stack), so depth is bounded before it runs.
int depth(std::string_view text) {
  int open = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++open);
    } else if (c == ']' || c == '}') {
      --open;
    }
  }
  return deepest;
}

}  // namespace

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
  const std::uint64_t computed = run_.add(step.plan, step.result);
  if (computed == step.link) return std::nullopt;
  return LinkMismatch{step.plan.step, step.link, computed};
}

TraceError TraceReader::error_here(std::string message) const {
  return {line_, line_start_, std::move(message)};
}

tl::expected<TraceReader, TraceError> TraceReader::open(std::istream& in) {
  TraceReader reader(in);
  auto line = reader.next_line();
  if (!line) {
    // Files of other kinds mostly fail as JSON; say what was expected of the first line.
    line.error().message = "not a Forge trace: " + line.error().message;
    return tl::unexpected(line.error());
  }
  if (!*line) return tl::unexpected(TraceError{1, 0, "not a Forge trace: the file is empty"});
  auto header = header_from_json(**line);
  if (!header) return tl::unexpected(reader.error_here(header.error()));
  reader.header_ = *std::move(header);
  return reader;
}

tl::expected<std::optional<TraceEvent>, TraceError> TraceReader::next() {
  if (failed_) return std::nullopt;
  auto line = next_line();
  failed_ = !line;
  if (!line) return tl::unexpected(line.error());
  if (!*line) return std::nullopt;
  auto event = event_from_json(**line);
  failed_ = !event;
  if (!event) return tl::unexpected(error_here(event.error()));
  return *std::move(event);
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
    return tl::unexpected(TraceError{line_, line_start_ + text_.size(),
                                     "the file ends within a line; the trace is truncated"});
  }
  return true;
}

tl::expected<std::optional<nlohmann::json>, TraceError> TraceReader::next_line() {
  const auto text = read_text();
  if (!text) return tl::unexpected(text.error());
  if (!*text) return std::nullopt;
  if (depth(text_) > kMaxDepth) {
    return tl::unexpected(error_here("nested deeper than " + std::to_string(kMaxDepth)));
  }
  try {
    return nlohmann::json::parse(text_);
  } catch (const nlohmann::json::parse_error& e) {
    const std::uint64_t within = e.byte > 0 ? e.byte - 1 : 0;
    return tl::unexpected(TraceError{line_, line_start_ + within, "not JSON"});
  } catch (const nlohmann::json::exception& e) {  // a number beyond a double
    return tl::unexpected(error_here("not JSON that can be read"));
  }
}

}  // namespace forge
