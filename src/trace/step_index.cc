#include "forge/trace/step_index.h"

#include <algorithm>

#include "file_window.h"
#include "forge/trace/trace_json.h"
#include "json_line.h"

namespace forge::trace {
namespace {

constexpr std::string_view kStepStart = "{\"step\":";
constexpr std::string_view kSnapshotStart = "{\"snapshot\":";
/// So many lines are looked at in one place before another one is tried.
constexpr std::uint64_t kLinesALook = 8;
/// Every so many guesses in a row, one is the middle.
constexpr std::uint64_t kProbesAMiddle = 4;
constexpr std::uint64_t kAllLines = ~std::uint64_t{0};

}  // namespace

StepIndex::StepIndex(std::istream& in) : file_(std::make_unique<detail::FileWindow>(in)) {}
StepIndex::StepIndex(StepIndex&&) noexcept = default;
StepIndex::~StepIndex() = default;

std::uint64_t StepIndex::file_bytes() const { return file_->size(); }
std::uint64_t StepIndex::bytes_read() const { return header_end_ + file_->bytes_read(); }

tl::expected<StepIndex, TraceError> StepIndex::open(std::istream& in) {
  auto reader = TraceReader::open(in);  // says what is wrong with a foreign file
  if (!reader) return tl::unexpected(reader.error());
  StepIndex index(in);
  index.header_ = reader->header();
  index.header_end_ = reader->place().byte;
  if (auto read = index.read_snapshot(); !read) return tl::unexpected(read.error());
  if (auto found = index.find_last(); !found) return tl::unexpected(found.error());
  if (auto found = index.find_first(); !found) return tl::unexpected(found.error());
  return index;
}

TraceError StepIndex::with_line_number(TraceError error) {
  return file_->with_line_number(std::move(error));
}

tl::unexpected<TraceError> StepIndex::error_at(std::uint64_t byte, std::string message) {
  return tl::unexpected(with_line_number({0, byte, std::move(message)}));
}

/// Looks at the end of the file, at twice as much of it each time.
tl::expected<void, TraceError> StepIndex::find_last() {
  const std::uint64_t size = file_->size();
  if (!file_->ends_with_newline()) {
    return error_at(size, kEndsWithinLine);
  }
  std::uint64_t to = size;
  for (std::uint64_t bytes = detail::FileWindow::kBlockBytes; to > header_end_; bytes *= 2) {
    const std::uint64_t from = size - std::min(bytes, size - header_end_);
    std::optional<Found> last;
    for (std::uint64_t next = from; next < to;) {
      const Search found = first_step_in(next, to, kAllLines);
      if (!found) return tl::unexpected(found.error());
      if (!*found) break;
      last = **found;
      next = last->line.end;
    }
    if (last) {
      known_[last->step.value] = last->line;
      end_ = last->step.value + 1;
      return {};
    }
    to = from;
  }
  return {};
}

/// Requests are often submitted all at once before the first step; who knows where that ends never
/// looks there again. If they come later, what is found is just some early step.
tl::expected<void, TraceError> StepIndex::find_first() {
  if (known_.empty()) return {};
  std::uint64_t from = header_end_;
  std::uint64_t to = known_.begin()->second.begin;
  while (from < to) {
    const std::uint64_t middle = from + (to - from) / 2;
    const Search found = first_step_in(middle, to, kLinesALook);
    if (!found) return tl::unexpected(found.error());
    if (*found && (*found)->step.value < end_) {
      known_[(*found)->step.value] = (*found)->line;
      to = (*found)->line.begin;
    } else {
      from = middle + 1;
    }
  }
  return {};
}

tl::expected<StepIndex::Line, TraceError> StepIndex::find(StepId step) {
  for (std::uint64_t probes = 0;; ++probes) {
    const bool proportional = (probes + 1) % kProbesAMiddle != 0;
    const auto after = known_.lower_bound(step.value);
    if (after->first == step.value) return after->second;
    const bool has_before = after != known_.begin();
    const std::uint64_t from = has_before ? std::prev(after)->second.end : header_end_;
    const std::uint64_t first = has_before ? std::prev(after)->first + 1 : first_;
    const std::uint64_t to = after->second.begin;
    if (to < from) {
      return error_at(to, "step " + std::to_string(after->first) + " stands before step " +
                              std::to_string(first - 1));
    }
    // Half a step early: the next line that starts is then the one that is wanted.
    const auto wanted = static_cast<double>(step.value - first);
    const double share = std::max(0.0, wanted - 0.5) / static_cast<double>(after->first - first);
    const auto guess =
        static_cast<std::uint64_t>(static_cast<double>(to - from) * (proportional ? share : 0.5));
    const Search found = probe(from, to, from + guess);
    if (!found) return tl::unexpected(found.error());
    if (!*found) {
      return error_at(to, "step " + std::to_string(step.value) + " is missing before step " +
                              std::to_string(after->first));
    }
    const Found& line = **found;
    if (line.step.value < first || line.step.value >= after->first) {
      return error_at(line.line.begin, "step " + std::to_string(line.step.value) +
                                           " stands where the steps " + std::to_string(first) +
                                           " to " + std::to_string(after->first - 1) + " belong");
    }
    known_[line.step.value] = line.line;
  }
}

tl::expected<std::uint64_t, TraceError> StepIndex::end_of(std::optional<StepId> step) {
  if (!step) return header_end_;
  const auto line = find(*step);
  if (!line) return tl::unexpected(line.error());
  return line->end;
}

/// Some step whose line starts in [from, to), near `guess` if possible.
StepIndex::Search StepIndex::probe(std::uint64_t from, std::uint64_t to, std::uint64_t guess) {
  Search found = first_step_in(guess, to, kLinesALook);
  for (std::uint64_t left = (to - guess) / 2; found && !*found && left > 0; left /= 2) {
    found = first_step_in(to - left, to, kLinesALook);
  }
  for (std::uint64_t left = (guess - from) / 2; found && !*found && left > 0; left /= 2) {
    found = first_step_in(from + left, to, kLinesALook);
  }
  if (found && !*found) found = first_step_in(from, to, kAllLines);
  return found;
}

/// If the trace begins with one, its steps begin there.
tl::expected<void, TraceError> StepIndex::read_snapshot() {
  if (!file_->starts_with(header_end_, kSnapshotStart)) return {};
  const auto line = read_event(header_end_);
  if (!line) return tl::unexpected(line.error());
  if (const auto* snapshot = std::get_if<SnapshotEvent>(&line->event)) {
    first_ = end_ = snapshot->scheduler.next_step.value;
  }
  return {};
}

StepIndex::Search StepIndex::first_step_in(std::uint64_t from, std::uint64_t to,
                                           std::uint64_t lines) {
  std::uint64_t begin = file_->line_start(from);
  for (std::uint64_t i = 0; i < lines && begin < to; ++i) {
    if (file_->starts_with(begin, kStepStart)) {
      auto found = read_step(begin);
      if (!found) return tl::unexpected(found.error());
      return *found;
    }
    begin = file_->line_start(begin + 1);
  }
  return std::nullopt;
}

tl::expected<StepIndex::EventLine, TraceError> StepIndex::read_event(std::uint64_t begin) {
  const auto text = file_->line(begin);
  if (!text) return error_at(text.error().byte, text.error().message);
  const auto json = detail::parse_line(*text, {0, begin});
  if (!json) return error_at(json.error().byte, json.error().message);
  auto event = event_from_json(*json);
  if (!event) return error_at(begin, event.error());
  return EventLine{*std::move(event), begin + text->size() + 1};
}

tl::expected<StepIndex::Found, TraceError> StepIndex::read_step(std::uint64_t begin) {
  const auto line = read_event(begin);
  if (!line) return tl::unexpected(line.error());
  const auto* step = std::get_if<StepEvent>(&line->event);
  if (step == nullptr) return error_at(begin, "not a step");
  return Found{step->plan.step, {begin, line->end, step->link}};
}

}  // namespace forge::trace
